// One workflow: its graph, live, and its steps as a table.
import { useState } from "preact/hooks";
import { client } from "../api/session";
import type { Step, Workflow } from "../api/types";
import { useResource } from "../live/resource";
import { Action, Badge, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { When } from "../parts/clock";
import { Confirm } from "../parts/dialog";
import { percent, shortId } from "../parts/format";
import { Graph } from "../parts/graph";
import { notify } from "../parts/notices";
import { href } from "../parts/route";

export function WorkflowPage({ id }: { id: string }) {
  const path = `/v1/workflows/${encodeURIComponent(id)}`;
  const workflow = useResource<Workflow>(path, (event) => event.type === "task", 250);
  const [isAsked, ask] = useState(false);
  const shown = workflow.data;
  const steps = shown?.steps ?? [];
  const act = (action: "cancel" | "retry", said: string) => async () => {
    await client.call(`${path}/${action}`, { method: "POST" });
    notify(said);
    workflow.reload();
  };
  const canRetry = steps.some((each) => each.state === "dead" || each.state === "cancelled");
  return (
    <Page
      title={shown?.name ?? `Workflow ${shortId(id)}`}
      above={<p class="crumbs"><a href="#/workflows">Workflows</a> / <span class="mono">{id}</span></p>}
      actions={shown && (
        <>
          {canRetry && <Action needs="admin" kind="primary" onClick={act("retry", "Its dead and cancelled steps run again.")}>Retry failed steps</Action>}
          {shown.unfinished > 0 && <Action needs="admin" kind="danger" onClick={() => ask(true)}>Cancel…</Action>}
        </>
      )}
    >
      {workflow.error && <Failure error={workflow.error} retry={workflow.reload} />}
      {workflow.isLoading && <Loading />}
      {shown && (
        <>
          <div class="state-line">
            <Badge state={shown.state} />
            <span>{steps.length - shown.unfinished} of {steps.length} steps ended</span>
            <span class="quiet">started <When at={shown.created_at} /></span>
          </div>
          <Panel title="Graph"><Graph steps={steps} /></Panel>
          <Panel title="Steps"><Steps steps={steps} /></Panel>
        </>
      )}
      {isAsked && (
        <Confirm title="Cancel this workflow?" action="Cancel the workflow" danger run={act("cancel", "It is cancelled.")} onClose={() => ask(false)}>
          <p>What runs is told to stop; what has not begun never will.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Steps({ steps }: { steps: Step[] }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">State</th>
          <th scope="col" class="wide">Task</th>
          <th scope="col" class="wide">After</th>
        </tr>
      </thead>
      <tbody>
        {steps.map((each) => (
          <tr key={each.name}>
            <td>
              <a class="row-link" href={href(["tasks", each.task])}>{each.name}</a>
              <Narrow>{each.kind}, {each.queue}{each.after.length > 0 && <>, after {each.after.join(", ")}</>}</Narrow>
            </td>
            <td>
              <Badge state={each.state} />
              {each.state === "running" && each.progress > 0 && <span class="quiet"> {percent(each.progress)}</span>}
              {each.reason && <span class="sub one-line" title={each.reason}>{each.reason}</span>}
            </td>
            <td class="wide">{each.kind} <span class="sub">{each.queue}</span></td>
            <td class="wide">{each.after.join(", ") || <span class="quiet">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
