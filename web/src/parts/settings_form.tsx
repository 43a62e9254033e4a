// Changes the settings of a queue. What is wrong is said at the field: before it is sent, and by the server.
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { client, refusal } from "../api/session";
import type { Queue } from "../api/types";
import { Panel } from "./basics";
import { Field } from "./field";
import { plural } from "./format";
import { notify } from "./notices";
import { changes, formErrors, formOf, type Form, isShown, settingFields, settingGroups } from "./settings";

export function SettingsForm({ queue, onSaved }: { queue: Queue; onSaved: () => void }) {
  const [edits, setEdits] = useState<Form>({});
  const [refused, setRefused] = useState<{ field: string; message: string }>();
  const [isBusy, setBusy] = useState(false);
  const saved = formOf(queue.settings);
  const form = { ...saved, ...edits }; // What nobody touches here follows the server.
  const wrong = formErrors(form);
  const changed = changes(saved, form);
  const number = Object.keys(changed).length;
  const why = refusal("admin");
  const unplaced = refused && !settingFields.some((each) => each.name === refused.field) ? refused.message : undefined;

  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefused(undefined);
    try {
      await client.call(`/v1/queues/${encodeURIComponent(queue.name)}`, { method: "PUT", body: changed });
      setEdits({});
      notify(`Saved ${plural(number, "setting")} of ${queue.name}.`);
      onSaved();
    } catch (error) {
      const field = error instanceof ApiError ? (error.field ?? "") : "";
      setRefused({ field, message: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  const set = (name: string) => (value: string) => {
    setRefused(undefined);
    const next = { ...edits, [name]: value };
    if (value === saved[name]) delete next[name];
    setEdits(next);
  };
  return (
    <Panel title="Settings" note={why}>
      <form class="settings" aria-label="Settings" noValidate onSubmit={(event) => void save(event)}>
        {settingGroups.map((group) => (
          <fieldset key={group.title} disabled={why !== undefined}>
            <legend>{group.title}</legend>
            {group.fields.filter((each) => isShown(each, form)).map((each) => (
              <Field
                key={each.name}
                label={each.label}
                hint={each.hint}
                options={each.options}
                value={form[each.name] ?? ""}
                error={wrong[each.name] ?? (refused?.field === each.name ? refused.message : undefined)}
                onInput={set(each.name)}
              />
            ))}
          </fieldset>
        ))}
        {unplaced && <p class="notice bad" role="alert">{unplaced}</p>}
        <div class="form-actions">
          <button type="submit" class="primary" disabled={why !== undefined || isBusy || number === 0 || Object.keys(wrong).length > 0}>
            {number === 0 ? "Save" : `Save ${plural(number, "change")}`}
          </button>
          <button type="button" disabled={number === 0} onClick={() => (setEdits({}), setRefused(undefined))}>
            Undo
          </button>
        </div>
      </form>
    </Panel>
  );
}
