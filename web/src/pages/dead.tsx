// Dead letters: tasks that failed for good, by what went wrong; replayed by the group.
import { useState } from "preact/hooks";
import { target } from "../api/client";
import type { Counts, DeadGroup } from "../api/types";
import type { LiveEvent } from "../live/live";
import { useResource } from "../live/resource";
import { Action, Empty, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { Bulk } from "../parts/bulk";
import { When } from "../parts/clock";
import { Field } from "../parts/field";
import { beginning, count, plural } from "../parts/format";
import { href, replaceRoute, type Route } from "../parts/route";

const most = 1000; // Groups that the server answers with: the largest.
const step = 100; // Rows that are drawn at a time.

export function DeadPage({ route }: { route: Route }) {
  const queue = route.query["queue"] ?? "";
  const dead = useResource<{ dead: DeadGroup[] }>(target("/v1/dead", { queue }), isNews, 3000);
  const groups = dead.data?.dead ?? [];
  const isCut = groups.length >= most;
  const totals = useResource<{ counts: Counts }>(isCut ? totalsOf(queue) : undefined, isNews, 3000);
  const total = isCut ? totals.data?.counts.dead : groups.reduce((sum, each) => sum + each.count, 0);
  const [chosen, choose] = useState<DeadGroup>();
  const [limit, setLimit] = useState(step);
  return (
    <Page title="Dead letters">
      <form class="filters" role="search" aria-label="Dead letters" onSubmit={(event) => event.preventDefault()}>
        <Field label="Queue" value={queue} placeholder="any" onInput={(value) => replaceRoute(href(["dead"], { queue: value.trim() }))} />
      </form>
      <Panel title="By what went wrong" note={deadNote(groups.length, total)}>
        {dead.error && <Failure error={dead.error} retry={dead.reload} />}
        {dead.isLoading && <Loading />}
        {dead.data && groups.length === 0 && (
          <Empty title="No dead letters.">
            <p>A task comes here when its attempts are used up, or when it failed for good.</p>
          </Empty>
        )}
        {groups.length > 0 && <Groups groups={groups.slice(0, limit)} choose={choose} />}
        {groups.length > limit && (
          <p class="pager">
            <button type="button" onClick={() => setLimit(limit + step)}>Show more</button>
            <span class="quiet">{count(limit)} of {isCut && "the "}{count(groups.length)}{isCut && " largest"} groups</span>
          </p>
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

const isNews = (event: LiveEvent): boolean => event.type === "stats" || (event.type === "task" && event.state === "dead");
const totalsOf = (queue: string): string => (queue ? `/v1/queues/${encodeURIComponent(queue)}` : "/v1/totals");

// The server says no more than the largest groups, so what is in them may not be all.
export function deadNote(groups: number, total: number | undefined): string | undefined {
  if (groups === 0) return undefined;
  const largest = groups >= most ? `the ${count(most)} largest groups` : "";
  return [total === undefined ? "" : plural(total, "task"), largest].filter(Boolean).join("; ");
}

// All tasks of the group; or one of them where its reason is too long for an address.
export function placeOf({ queue, kind, reason, example }: DeadGroup): string {
  const all = href(["tasks"], { queue, kind, state: "dead", error: reason });
  return reason !== "" && all.length <= 4000 ? all : href(["tasks", example]);
}

function Groups({ groups, choose }: { groups: DeadGroup[]; choose: (group: DeadGroup) => void }) {
  return (
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
              <a class="row-link two-lines" href={placeOf(each)}>{beginning(each.reason) || "no reason was given"}</a>
              <span class="sub">{each.kind}</span>
              <Narrow>{each.queue}, latest <When at={each.latest} /></Narrow>
            </td>
            <td class="number">{count(each.count)}</td>
            <td class="wide">{each.queue}</td>
            <td class="wide"><When at={each.latest} /></td>
            <td class="row-actions">
              <Action
                needs="admin"
                small
                disabled={each.reason ? undefined : "No filter means those without a reason only: retry them one by one."}
                onClick={() => choose(each)}
                label={`Replay ${each.kind}: ${beginning(each.reason)}`}
              >
                Replay…
              </Action>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
