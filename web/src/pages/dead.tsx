// Dead letters: tasks that failed for good, by what went wrong; replayed by the group.
import { useState } from "preact/hooks";
import { target } from "../api/client";
import type { DeadGroup } from "../api/types";
import { useResource } from "../live/resource";
import { Action, Empty, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { Bulk } from "../parts/bulk";
import { When } from "../parts/clock";
import { Field } from "../parts/field";
import { count, plural } from "../parts/format";
import { href, replaceRoute, type Route } from "../parts/route";

export function DeadPage({ route }: { route: Route }) {
  const queue = route.query["queue"] ?? "";
  const dead = useResource<{ dead: DeadGroup[] }>(
    target("/v1/dead", { queue }),
    (event) => event.type === "stats" || (event.type === "task" && event.state === "dead"),
    3000,
  );
  const [chosen, choose] = useState<DeadGroup>();
  const groups = dead.data?.dead ?? [];
  const total = groups.reduce((sum, each) => sum + each.count, 0);
  return (
    <Page title="Dead letters">
      <form class="filters" role="search" aria-label="Dead letters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Queue" value={queue} placeholder="any" onInput={(value) => replaceRoute(href(["dead"], { queue: value.trim() }))} />
      </form>
      <Panel title="By what went wrong" note={groups.length > 0 ? plural(total, "task") : undefined}>
        {dead.error && <Failure error={dead.error} retry={dead.reload} />}
        {dead.isLoading && <Loading />}
        {dead.data && groups.length === 0 && (
          <Empty title="No dead letters.">
            <p>A task comes here when its attempts are used up, or when it failed for good.</p>
          </Empty>
        )}
        {groups.length > 0 && (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Error</th>
                <th scope="col" class="number">Tasks</th>
                <th scope="col" class="wide">Queue</th>
                <th scope="col" class="wide">Latest</th>
                <th scope="col"><span class="hidden">Actions</span></th>
              </tr>
            </thead>
            <tbody>
              {groups.map((each) => (
                <tr key={`${each.queue} ${each.kind} ${each.reason}`}>
                  <td>
                    <a
                      class="row-link two-lines"
                      href={href(["tasks"], { queue: each.queue, kind: each.kind, state: "dead", error: each.reason })}
                    >
                      {each.reason || "no reason was given"}
                    </a>
                    <span class="sub">{each.kind}</span>
                    <Narrow>{each.queue}, latest <When at={each.latest} /></Narrow>
                  </td>
                  <td class="number">{count(each.count)}</td>
                  <td class="wide">{each.queue}</td>
                  <td class="wide"><When at={each.latest} /></td>
                  <td class="row-actions">
                    <Action needs="admin" small onClick={() => choose(each)} label={`Replay ${each.kind}: ${each.reason}`}>Replay…</Action>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      {chosen && (
        <Bulk
          action="retry"
          filter={{ queue: chosen.queue, kind: chosen.kind, state: "dead", error: chosen.reason }}
          onClose={() => choose(undefined)}
          onDone={dead.reload}
        />
      )}
    </Page>
  );
}
