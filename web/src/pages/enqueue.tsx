// Hands in a task by hand. JSON is checked as it is typed.
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { client } from "../api/session";
import { useResource } from "../live/resource";
import { Page, Panel } from "../parts/basics";
import { Curl } from "../parts/curl";
import { type EnqueueForm, enqueueBody, enqueueErrors } from "../parts/enqueue_form";
import { Field } from "../parts/field";
import { shortId } from "../parts/format";
import { checkJson } from "../parts/json";
import { notify } from "../parts/notices";
import type { QueuePage } from "../parts/queue_list";
import { href, type Route } from "../parts/route";

const blank: EnqueueForm = { queue: "", kind: "", payload: "{\n  \n}", delay: "", priority: "", max_attempts: "", timeout: "", unique_key: "", group: "" };

export function EnqueuePage({ route }: { route: Route }) {
  const [form, setForm] = useState<EnqueueForm>({ ...blank, queue: route.query["queue"] ?? "", kind: route.query["kind"] ?? "" });
  const [touched, touch] = useState<ReadonlySet<string>>(new Set());
  const [refused, setRefused] = useState<{ field: string; message: string }>();
  const [isBusy, setBusy] = useState(false);
  const queues = useResource<QueuePage>("/v1/queues?limit=100&order=depth");
  const errors = enqueueErrors(form);
  const body = enqueueBody(form);

  const send = async (event: Event) => {
    event.preventDefault();
    touch(new Set(Object.keys(blank)));
    if (Object.keys(errors).length > 0) return;
    setBusy(true);
    setRefused(undefined);
    try {
      const made = await client.call<{ id: string; duplicate: boolean }>("/v1/tasks", { method: "POST", body });
      notify(made.duplicate ? "There is one like it already:" : "Enqueued:", "good", { href: href(["tasks", made.id]), text: shortId(made.id) });
    } catch (error) {
      setRefused({ field: error instanceof ApiError ? (error.field ?? "") : "", message: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  const field = (name: keyof EnqueueForm) => ({
    value: form[name],
    error: (touched.has(name) ? errors[name] : undefined) ?? (refused?.field === name ? refused.message : undefined),
    onInput: (value: string) => {
      setForm({ ...form, [name]: value });
      touch(new Set([...touched, name]));
      if (refused?.field === name) setRefused(undefined);
    },
  });
  const isPlaced = refused !== undefined && refused.field in form;
  return (
    <Page title="Enqueue a task">
      <form class="columns enqueue" aria-label="Enqueue" noValidate onSubmit={(event) => void send(event)}>
        <Panel title="What">
          <div class="pair">
            <Field label="Queue" required {...field("queue")} suggestions={queues.data?.queues.map((each) => each.name) ?? []} placeholder="email" />
            <Field label="Kind" required {...field("kind")} placeholder="welcome" />
          </div>
          <Field label="Payload" rows={10} {...field("payload")} error={jsonError(form.payload) ?? field("payload").error} hint="JSON: good." />
        </Panel>
        <Panel title="How" note="all optional">
          <div class="pair">
            <Field label="Delay" {...field("delay")} hint="such as 30s, 5m" />
            <Field label="Priority" {...field("priority")} hint="-100 to 100, higher first" />
            <Field label="Attempts" {...field("max_attempts")} hint="1 to 1000" />
            <Field label="Timeout" {...field("timeout")} hint="for one attempt" />
            <Field label="Unique key" {...field("unique_key")} hint="no second one until it ends" />
            <Field label="Group" {...field("group")} hint="for fairness and limits" />
          </div>
        </Panel>
        <div class="form-actions">
          <button type="submit" class="primary" disabled={isBusy}>Enqueue</button>
          {refused && !isPlaced && <p class="notice bad" role="alert">{refused.message}</p>}
        </div>
      </form>
      <Panel title="The same with curl"><Curl path="/v1/tasks" body={body} /></Panel>
    </Page>
  );
}

function jsonError(text: string): string | undefined {
  const checked = checkJson(text);
  return checked.ok ? undefined : `Line ${checked.line}, column ${checked.column}: ${checked.message}.`;
}
