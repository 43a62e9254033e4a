// The list of tasks: filtered, a page at a time, newest first; and what is done to all that a filter means.
import { useState } from "preact/hooks";
import { target } from "../api/client";
import { lookFurther, noneTitle, type TaskPage } from "../api/paging";
import { client } from "../api/session";
import { isFinished, type State, states } from "../api/types";
import { useResource } from "../live/resource";
import { Action, Empty, Failure, Loading, Page, Panel } from "../parts/basics";
import { Bulk, type BulkAction } from "../parts/bulk";
import { Curl } from "../parts/curl";
import { Field } from "../parts/field";
import { isId } from "../parts/names";
import { href, replaceRoute, type Route } from "../parts/route";
import { TaskTable } from "../parts/task_table";

const pageSize = 50;

export interface TaskFilter {
  queue?: string;
  kind?: string;
  state?: string;
  group?: string;
  error?: string;
}

// The pages one has come through, so that there is a way back.
interface Cursors {
  filter: string;
  trail: string[];
}

export function TasksPage({ route }: { route: Route }) {
  const { queue = "", kind = "", state = "", group = "", error = "" } = route.query;
  const filter = { queue, kind, state, group, error };
  const key = JSON.stringify(filter);
  const [cursors, setCursors] = useState<Cursors>({ filter: key, trail: [] });
  const trail = cursors.filter === key ? cursors.trail : [];
  const cursor = trail.at(-1) ?? "";
  const [isLive, setLive] = useState(true);
  const [bulk, setBulk] = useState<BulkAction>();

  // The first page is loaded again and again, so it is one request; further ones go over what is empty by themselves.
  const urlOf = (from: string) => target("/v1/tasks", { ...filter, limit: pageSize, cursor: from, payload: "false" });
  const tasks = useResource<TaskPage>(
    urlOf(cursor),
    (event) => isLive && cursor === "" && event.type === "task" && (queue === "" || event.queue === queue),
    1000,
    (_, signal) => lookFurther(cursor, (from) => client.call<TaskPage>(urlOf(from), { signal }), cursor ? undefined : 1),
  );
  const go = (next: string[]) => setCursors({ filter: key, trail: next });
  const next = tasks.data?.next_cursor;

  return (
    <Page title="Tasks" actions={<BulkButtons state={state} open={setBulk} />}>
      <Filters filter={filter} />
      <Panel
        title="Newest first"
        note={trail.length > 0 ? `page ${trail.length + 1}` : isLive ? "live" : "held"}
        actions={
          <label class="check">
            <input type="checkbox" checked={isLive} onChange={(event) => setLive(event.currentTarget.checked)} /> Live
          </label>
        }
      >
        {tasks.error && <Failure error={tasks.error} retry={tasks.reload} />}
        {tasks.isLoading && <Loading />}
        {tasks.data && tasks.data.tasks.length > 0 && <TaskTable tasks={tasks.data.tasks} />}
        {tasks.data?.tasks.length === 0 && (
          <NoTasks
            isFiltered={Object.values(filter).some(Boolean)}
            isFirst={trail.length === 0}
            further={next ? () => go([...trail, next]) : undefined}
          />
        )}
        {(trail.length > 0 || next) && (
          <nav class="pager" aria-label="Pages of tasks">
            <button type="button" disabled={trail.length === 0} onClick={() => go(trail.slice(0, -1))}>
              ← Newer
            </button>
            <button type="button" disabled={!next} onClick={() => next && go([...trail, next])}>
              Older →
            </button>
          </nav>
        )}
      </Panel>
      {bulk && <Bulk action={bulk} filter={filter} onClose={() => setBulk(undefined)} onDone={tasks.reload} />}
    </Page>
  );
}

function BulkButtons({ state, open }: { state: string; open: (action: BulkAction) => void }) {
  const chosen = state as State | "";
  const noRetry = chosen && isFinished(chosen) ? undefined : "Choose the state done, dead or cancelled first.";
  const noCancel = chosen && !isFinished(chosen) ? undefined : "Choose the state scheduled, waiting, ready or running first.";
  return (
    <>
      <Action needs="admin" disabled={noRetry} onClick={() => open("retry")}>
        Retry all…
      </Action>
      <Action needs="admin" disabled={noCancel} onClick={() => open("cancel")}>
        Cancel all…
      </Action>
      <a class="button primary" href="#/enqueue">
        Enqueue
      </a>
    </>
  );
}

function Filters({ filter }: { filter: TaskFilter }) {
  const [id, setId] = useState("");
  const set = (name: keyof TaskFilter) => (value: string) => replaceRoute(href(["tasks"], { ...filter, [name]: value.trim() }));
  const isWhole = isId(id.trim());
  return (
    <form
      class="filters"
      role="search"
      aria-label="Tasks"
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) location.hash = href(["tasks", id.trim().toLowerCase()]);
      }}
    >
      <Field label="Queue" value={filter.queue ?? ""} onInput={set("queue")} placeholder="any" />
      <Field label="Kind" value={filter.kind ?? ""} onInput={set("kind")} placeholder="any" />
      <Field label="State" value={filter.state ?? ""} onInput={set("state")} options={["", ...states]} />
      <Field label="Group" value={filter.group ?? ""} onInput={set("group")} placeholder="any" />
      <div class="with-button">
        <Field label="Id" value={id} onInput={setId} placeholder="a whole id" error={id.trim() && !isWhole ? "not a whole id yet" : undefined} />
        <button type="submit" disabled={!isWhole}>Open</button>
      </div>
      {filter.error && (
        <p class="chip">
          <span class="one-line" title={filter.error}>error: {filter.error}</span>
          <button type="button" class="small plain" aria-label="Any error" onClick={() => set("error")("")}>✕</button>
        </p>
      )}
    </form>
  );
}

function NoTasks(props: { isFiltered: boolean; isFirst: boolean; further: (() => void) | undefined }) {
  const title = noneTitle({ ...props, hasMore: props.further !== undefined });
  if (props.further) {
    return (
      <Empty title={title}>
        <button type="button" onClick={props.further}>Look further</button>
      </Empty>
    );
  }
  if (props.isFiltered || !props.isFirst) {
    return (
      <Empty title={title}>
        <p>
          <a href="#/tasks">Show all tasks</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={title}>
      <p>
        <a href="#/enqueue">Enqueue one</a> here, or with:
      </p>
      <Curl path="/v1/tasks" body={{ queue: "email", kind: "welcome", payload: { to: "new@example.org" } }} />
    </Empty>
  );
}
