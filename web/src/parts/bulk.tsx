// Retries or cancels all tasks that a filter means, after saying how many they are.
import { useEffect, useState } from "preact/hooks";
import { client } from "../api/session";
import { Confirm } from "./dialog";
import { beginning, plural } from "./format";
import { notify } from "./notices";

export type BulkAction = "retry" | "cancel";

export interface BulkFilter {
  queue?: string;
  kind?: string;
  state?: string;
  group?: string;
  error?: string;
}

// What is empty means any.
export const bulkBody = (action: BulkAction, filter: BulkFilter, dryRun: boolean) => ({
  action,
  filter: Object.fromEntries(Object.entries(filter).filter(([, value]) => value)),
  dry_run: dryRun,
});

export function Bulk(props: { action: BulkAction; filter: BulkFilter; onClose: () => void; onDone: () => void }) {
  const [count, setCount] = useState<number>();
  const [error, setError] = useState("");
  const ask = (dryRun: boolean) =>
    client.call<{ count: number }>("/v1/tasks/bulk", {
      method: "POST",
      body: bulkBody(props.action, props.filter, dryRun),
    });
  useEffect(() => {
    ask(true).then(
      (answer) => setCount(answer.count),
      (failure: unknown) => setError(failure instanceof Error ? failure.message : String(failure)),
    );
  }, []);
  const verb = props.action === "retry" ? "Retry" : "Cancel";
  const run = async () => {
    const answer = await ask(false);
    notify(`${props.action === "retry" ? "Retried" : "Cancelled"} ${plural(answer.count, "task")}.`);
    props.onDone();
  };
  return (
    <Confirm
      title={`${verb} these tasks?`}
      action={count === undefined ? verb : `${verb} ${plural(count, "task")}`}
      danger={props.action === "cancel"}
      disabled={!count}
      run={run}
      onClose={props.onClose}
    >
      <ul class="filter-list">
        {Object.entries(props.filter)
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <li key={name}>
              {name}: <code>{beginning(value)}</code>
            </li>
          ))}
      </ul>
      {error ? (
        <p class="notice bad" role="alert">
          {error}
        </p>
      ) : (
        <p role="status">{count === undefined ? "Counting…" : count === 0 ? "No task is like that now." : `${plural(count, "task")} now.`}</p>
      )}
      {props.action === "cancel" && <p class="quiet">What runs is told to stop; what has not begun never will.</p>}
    </Confirm>
  );
}
