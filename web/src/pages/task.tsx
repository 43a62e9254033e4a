// One task: what it is, why it is not running, what became of each attempt, and what it said.
import { useState } from "preact/hooks";
import { RawJson } from "../api/raw";
import { client } from "../api/session";
import { type Explanation, isFinished, type LogLine, type Task } from "../api/types";
import { useResource } from "../live/resource";
import { Action, Badge, Code, Facts, Failure, Loading, Meter, Page, Panel } from "../parts/basics";
import { fullTime, Since, When } from "../parts/clock";
import { Confirm } from "../parts/dialog";
import { clockTime, duration, percent, shortId } from "../parts/format";
import { JsonView } from "../parts/json_view";
import { moments } from "../parts/moments";
import { notify } from "../parts/notices";
import { href } from "../parts/route";

export function TaskPage({ id }: { id: string }) {
  const task = useResource<Task>(`/v1/tasks/${encodeURIComponent(id)}`, (event) => event.type === "task" && event.id === id, 250);
  const [isAsked, ask] = useState(false);
  const shown = task.data;
  const act = (action: "retry" | "cancel", said: string) => async () => {
    await client.call(`/v1/tasks/${encodeURIComponent(id)}/${action}`, { method: "POST", body: {} });
    notify(said);
    task.reload();
  };
  return (
    <Page
      title={shown ? shown.kind : `Task ${shortId(id)}`}
      above={<p class="crumbs"><a href="#/tasks">Tasks</a> / <span class="mono">{id}</span></p>}
      actions={shown && (isFinished(shown.state) ? (
        <Action needs="admin" kind="primary" onClick={act("retry", "It runs again.")}>Retry</Action>
      ) : (
        <Action needs="admin" kind="danger" onClick={() => ask(true)}>Cancel…</Action>
      ))}
    >
      {task.error && <Failure error={task.error} retry={task.reload} />}
      {task.isLoading && <Loading />}
      {shown && <TaskBody task={shown} />}
      {isAsked && shown && (
        <Confirm title="Cancel this task?" action="Cancel the task" danger run={act("cancel", "It is cancelled.")} onClose={() => ask(false)}>
          <p>{shown.state === "running" ? "Its worker is told to stop the next time it reports." : "It will not run."}</p>
        </Confirm>
      )}
    </Page>
  );
}

function TaskBody({ task }: { task: Task }) {
  return (
    <>
      <div class="state-line">
        <Badge state={task.state} />
        {task.state === "running" && (
          <span>for <Since at={task.started_at} />{task.worker && <> by <b>{task.worker}</b></>}</span>
        )}
        {task.reason && <span>{task.reason}</span>}
      </div>
      {task.state === "running" && (
        <Panel title="Progress" note={task.progress.note}>
          <Meter kind="progress" value={task.progress.fraction} of={1} label="Progress" text={percent(task.progress.fraction)} />
        </Panel>
      )}
      {!isFinished(task.state) && task.state !== "running" && <Why task={task} />}
      <div class="columns">
        <div>
          <Timeline task={task} />
          <Log task={task} />
        </div>
        <div>
          <About task={task} />
          <Panel title="Payload"><JsonView value={task.payload ?? new RawJson("null")} label="Payload" /></Panel>
          {task.result !== undefined && <Panel title="Result"><JsonView value={task.result} label="Result" /></Panel>}
        </div>
      </div>
    </>
  );
}

const advice: Record<string, string> = {
  paused: "Resume the queue and it goes on.",
  no_worker: "Start a worker that claims from this queue.",
  rate_limited: "Raise the rate limit of the queue, or wait.",
  concurrency_limited: "Raise the concurrency of the queue, or wait for one to end.",
  group_busy: "Others of its group run; it is next for the group.",
};

function Why({ task }: { task: Task }) {
  const why = useResource<Explanation>(
    `/v1/tasks/${encodeURIComponent(task.id)}/explain`,
    (event) => event.type === "stats" || event.type === "task",
    2000,
  );
  return (
    <Panel title="Why isn’t this running?" class="why">
      {why.error && <Failure error={why.error} retry={why.reload} />}
      {!why.data && !why.error && <Loading />}
      {why.data && (
        <>
          <p class="why-text"><b class="code-word">{why.data.code.replaceAll("_", " ")}</b> {why.data.message}</p>
          <p class="quiet">
            {why.data.position !== undefined && <>Position {why.data.position} in the queue. </>}
            {advice[why.data.code]} <a href={href(["queues", task.queue])}>Queue {task.queue}</a>
          </p>
        </>
      )}
    </Panel>
  );
}

function About({ task }: { task: Task }) {
  const took = task.started_at && task.finished_at ? Date.parse(task.finished_at) - Date.parse(task.started_at) : undefined;
  return (
    <Panel title="About">
      <Facts items={[
        ["Queue", <a href={href(["queues", task.queue])}>{task.queue}</a>],
        ["Attempt", `${task.attempt} of ${task.max_attempts}`],
        ["Priority", task.priority],
        ["Created", <When at={task.created_at} />],
        ...(task.state === "scheduled" ? [["Runs", <When at={task.run_at} />] as [string, preact.JSX.Element]] : []),
        ...(took !== undefined ? [["Took", duration(took)] as [string, string]] : []),
        ...(task.timeout ? [["Timeout", task.timeout] as [string, string]] : []),
        ...(task.group ? [["Group", <a href={href(["tasks"], { queue: task.queue, group: task.group })}>{task.group}</a>] as [string, preact.JSX.Element]] : []),
        ...(task.unique_key ? [["Unique key", task.unique_key] as [string, string]] : []),
        ...(task.crashes > 0 ? [["Crashes", task.crashes] as [string, number]] : []),
        ...(task.workflow ? [["Workflow", <a href={href(["workflows", task.workflow])}>{task.step ?? shortId(task.workflow)}</a>] as [string, preact.JSX.Element]] : []),
        ...(task.after.length > 0 ? [["After", <>{task.after.map((each) => <a class="mono inline" key={each} href={href(["tasks", each])}>{shortId(each)}</a>)}</>] as [string, preact.JSX.Element]] : []),
        ...(task.notify ? [["Notifies", task.notify.url] as [string, string]] : []),
        ...(task.trace ? [["Trace", <code class="break">{task.trace}</code>] as [string, preact.JSX.Element]] : []),
      ]} />
    </Panel>
  );
}

function Timeline({ task }: { task: Task }) {
  return (
    <Panel title="Timeline">
      <ol class="timeline">
        {moments(task).map((each) => (
          <li key={`${each.title} ${each.at}`} class={each.kind}>
            <div class="timeline-head">
              <b>{each.title}</b>
              <span class="quiet" title={fullTime(each.at)}><When at={each.at} /></span>
            </div>
            {each.text && <p class="timeline-text">{each.text}</p>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Log({ task }: { task: Task }) {
  const log = useResource<{ lines: LogLine[] }>(
    `/v1/tasks/${encodeURIComponent(task.id)}/log`,
    (event) => event.type === "task" || (event.type === "stats" && task.state === "running"),
    2000,
  );
  const lines = log.data?.lines ?? [];
  return (
    <Panel title="Log" note={lines.length > 0 ? undefined : "nothing was said"}>
      {log.error && <Failure error={log.error} retry={log.reload} />}
      {lines.length > 0 && <Code label="Log" text={lines.map((each) => `${clockTime(each.at)}  ${each.line}`).join("\n")} />}
    </Panel>
  );
}

