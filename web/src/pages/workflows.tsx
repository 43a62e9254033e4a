// Workflows, newest first, a page at a time.
import { useState } from "preact/hooks";
import { target } from "../api/client";
import type { Workflow } from "../api/types";
import { useResource } from "../live/resource";
import { Badge, Empty, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { When } from "../parts/clock";
import { Curl } from "../parts/curl";
import { duration, plural, shortId } from "../parts/format";
import { href } from "../parts/route";

const example = {
  name: "checkout-17",
  steps: [
    { name: "charge", task: { queue: "payment", kind: "charge" } },
    { name: "receipt", after: ["charge"], task: { queue: "email", kind: "receipt" } },
  ],
};

const took = (each: Workflow): string => duration(Date.parse(each.finished_at ?? each.created_at) - Date.parse(each.created_at));

export function WorkflowsPage() {
  const [trail, setTrail] = useState<string[]>([]);
  const page = useResource<{ workflows: Workflow[]; next_cursor?: string }>(
    target("/v1/workflows", { limit: 50, cursor: trail.at(-1) }),
    (event) => event.type === "stats" && trail.length === 0,
    2000,
  );
  const all = page.data?.workflows;
  const next = page.data?.next_cursor;
  return (
    <Page title="Workflows">
      <Panel title="Newest first">
        {page.error && <Failure error={page.error} retry={page.reload} />}
        {page.isLoading && <Loading />}
        {all?.length === 0 && (
          <Empty title="No workflows yet.">
            <p>Steps that depend on each other, as one thing. Start one with:</p>
            <Curl path="/v1/workflows" body={example} />
          </Empty>
        )}
        {all && all.length > 0 && (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Workflow</th>
                <th scope="col">State</th>
                <th scope="col" class="number wide">Steps to go</th>
                <th scope="col">Started</th>
                <th scope="col" class="wide">Took</th>
              </tr>
            </thead>
            <tbody>
              {all.map((each) => (
                <tr key={each.id}>
                  <td>
                    <a class="row-link" href={href(["workflows", each.id])}>{each.name}</a>
                    <span class="sub mono">{shortId(each.id)}</span>
                    <Narrow>{each.finished_at ? `took ${took(each)}` : `${plural(each.unfinished, "step")} to go`}</Narrow>
                  </td>
                  <td><Badge state={each.state} /></td>
                  <td class="number wide">{each.unfinished}</td>
                  <td><When at={each.created_at} /></td>
                  <td class="wide">{each.finished_at ? took(each) : <span class="quiet">–</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {(trail.length > 0 || next) && (
          <nav class="pager" aria-label="Pages of workflows">
            <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>← Newer</button>
            <button type="button" disabled={!next} onClick={() => next && setTrail([...trail, next])}>Older →</button>
          </nav>
        )}
      </Panel>
    </Page>
  );
}
