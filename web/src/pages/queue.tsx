// One queue: how it is doing, what it is set to, and what an operator does with it.
import { useState } from "preact/hooks";
import { client } from "../api/session";
import { type Queue, type State, states } from "../api/types";
import { useResource } from "../live/resource";
import { useHistory } from "../live/use_history";
import { Action, Badge, Facts, Failure, Loading, Meter, Page, Panel } from "../parts/basics";
import { Confirm } from "../parts/dialog";
import { Field } from "../parts/field";
import { bytes, count, durationText, plural, rate, short } from "../parts/format";
import { HistoryCharts, StatesChart } from "../parts/history_charts";
import { notify } from "../parts/notices";
import { href } from "../parts/route";
import { SettingsForm } from "../parts/settings_form";

export function QueuePage({ name }: { name: string }) {
  const path = `/v1/queues/${encodeURIComponent(name)}`;
  const queue = useResource<Queue>(path, (event) => event.type === "stats");
  const [isPurging, purge] = useState(false);
  const shown = queue.data;
  const act = (action: string, said: string) => async () => {
    await client.call(`${path}/${action}`, { method: "POST" });
    notify(said);
    queue.reload();
  };
  return (
    <Page
      title={name}
      above={<p class="crumbs"><a href="#/">Queues</a> /</p>}
      actions={
        shown && (
          <>
            {shown.paused ? (
              <Action needs="admin" kind="primary" onClick={act("resume", `${name} goes on.`)}>Resume</Action>
            ) : (
              <Action needs="admin" onClick={act("pause", `${name} is paused: what runs is finished, nothing begins.`)}>Pause</Action>
            )}
            <Action needs="admin" kind="danger" onClick={() => purge(true)}>Purge…</Action>
            <a class="button primary" href={href(["enqueue"], { queue: name })}>Enqueue</a>
          </>
        )
      }
    >
      {queue.error && <Failure error={queue.error} retry={queue.reload} />}
      {queue.isLoading && <Loading />}
      {shown && <QueueBody queue={shown} reload={queue.reload} />}
      {isPurging && shown && <Purge queue={shown} onClose={() => purge(false)} onDone={queue.reload} />}
    </Page>
  );
}

function QueueBody({ queue, reload }: { queue: Queue; reload: () => void }) {
  const history = useHistory(`/v1/queues/${encodeURIComponent(queue.name)}/history`, "span");
  return (
    <>
      {queue.paused && <p class="notice warn">This queue is paused: what runs is finished, nothing begins.</p>}
      <StateTiles queue={queue} />
      <div class="columns">
        <Panel title="Backpressure">
          <Meter
            value={queue.unfinished}
            of={queue.settings.capacity}
            label="Unfinished tasks of the capacity"
            text={`${count(queue.unfinished)} of ${count(queue.settings.capacity)}`}
          />
          <Facts
            items={[
              ["Payloads", `${bytes(queue.bytes)} of ${bytes(queue.settings.capacity_bytes)}`],
              ["Refused", <span class={queue.rates.rejected > 0 ? "alarming" : ""}>{rate(queue.rates.rejected)}</span>],
              ["When full", queue.settings.when_full],
              ["Oldest ready", durationText(queue.oldest_ready_age)],
              ...(queue.settings.deliver_to ? [["Delivers to", queue.settings.deliver_to.url] as [string, string]] : []),
            ]}
          />
          <p class={queue.advice && queue.advice.capacity > queue.settings.capacity ? "notice warn" : "quiet"}>
            <b>Advice: </b>
            {queue.advice ? `${queue.advice.message}.` : "none before anything was done: it would be a guess."}
          </p>
        </Panel>
        <Panel title="Speed">
          <Facts
            items={[
              ["In", rate(queue.rates.in)],
              ["Done", rate(queue.rates.done)],
              ["Failed", rate(queue.rates.failed)],
              ["Wait p50 / p95 / p99", quantiles(queue.wait_time)],
              ["Run p50 / p95 / p99", quantiles(queue.run_time)],
            ]}
          />
        </Panel>
      </div>
      <div class="charts wide-first">
        <StatesChart history={history} />
      </div>
      <HistoryCharts history={history} />
      <SettingsForm key={queue.name} queue={queue} onSaved={reload} />
    </>
  );
}

const quantiles = (all: Queue["wait_time"]): string =>
  all.p50 ? [all.p50, all.p95, all.p99].map(durationText).join(" / ") : "–";

function StateTiles({ queue }: { queue: Queue }) {
  return (
    <ul class="tiles" aria-label="Tasks by state">
      {states.map((state) => (
        <li key={state} class={`tile ${state}`} title={count(queue.counts[state])}>
          <a href={href(["tasks"], { queue: queue.name, state })}>
            <span class="tile-label">{state}</span>
            <span class="tile-value">{short(queue.counts[state])}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const purgeable: State[] = ["dead", "done", "cancelled", "ready", "scheduled"];

function Purge({ queue, onClose, onDone }: { queue: Queue; onClose: () => void; onDone: () => void }) {
  const [state, setState] = useState<State>("dead");
  const n = queue.counts[state];
  const run = async () => {
    const answer = await client.call<{ count: number }>(`/v1/queues/${encodeURIComponent(queue.name)}/purge`, { method: "POST", body: { state } });
    notify(`Purged ${plural(answer.count, "task")} from ${queue.name}.`);
    onDone();
  };
  return (
    <Confirm title={`Purge ${queue.name}?`} action={`Purge ${plural(n, `${state} task`)}`} danger disabled={n === 0} run={run} onClose={onClose}>
      <p>They are forgotten, payloads and all. This cannot be undone.</p>
      <Field label="State" value={state} options={purgeable} onInput={(value) => setState(value as State)} />
      <p>About to be forgotten: <Badge state={state} /> <b>{count(n)}</b></p>
    </Confirm>
  );
}
