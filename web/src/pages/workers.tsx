// Who takes tasks, what each runs and since when, and when it was last heard of.
import type { Worker } from "../api/types";
import { useResource } from "../live/resource";
import { Code, Empty, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { Since, When } from "../parts/clock";
import { plural } from "../parts/format";
import { href } from "../parts/route";

const most = 200; // Rows at a time: there may be thousands.

export function WorkersPage() {
  const workers = useResource<{ workers: Worker[] }>("/v1/workers", (event) => event.type === "stats" || event.type === "task", 2000);
  const all = workers.data?.workers ?? [];
  const running = all.reduce((sum, each) => sum + each.running.length, 0);
  return (
    <Page title="Workers">
      <Panel title="Now" note={workers.data ? `${plural(all.length, "worker")}, ${plural(running, "task")} running` : undefined}>
        {workers.error && <Failure error={workers.error} retry={workers.reload} />}
        {workers.isLoading && <Loading />}
        {workers.data && all.length === 0 && <NoWorkers />}
        {all.length > 0 && <WorkerTable workers={all.slice(0, most)} />}
        {all.length > most && <p class="quiet">The first {most} of {all.length}.</p>}
      </Panel>
    </Page>
  );
}

function NoWorkers() {
  return (
    <Empty title="Nobody takes tasks.">
      <p>A worker is here from its first claim. One that runs a program for each task:</p>
      <Code label="Start a worker" text="handoff work --queue email -- ./send-mail" />
    </Empty>
  );
}

function WorkerTable({ workers }: { workers: Worker[] }) {
  return (
    <table class="rows top">
      <thead>
        <tr>
          <th scope="col">Worker</th>
          <th scope="col" class="wide">Queues</th>
          <th scope="col">Runs</th>
          <th scope="col" class="wide">Since</th>
          <th scope="col">Last heard of</th>
        </tr>
      </thead>
      <tbody>
        {workers.map((each) => (
          <tr key={`${each.name} ${each.started_at}`}>
            <td>
              <b>{each.name}</b>
              <Narrow><Queues worker={each} /></Narrow>
              <Narrow>since <When at={each.started_at} /></Narrow>
            </td>
            <td class="wide"><Queues worker={each} /></td>
            <td>
              {each.running.length === 0 && <span class="quiet">nothing</span>}
              <ul class="plain-list">
                {each.running.slice(0, 10).map((task) => (
                  <li key={task.task}>
                    <a href={href(["tasks", task.task])}>{task.kind}</a> <span class="quiet">for <Since at={task.since} /></span>
                  </li>
                ))}
                {each.running.length > 10 && <li class="quiet">and {each.running.length - 10} more</li>}
              </ul>
            </td>
            <td class="wide"><When at={each.started_at} /></td>
            <td>
              <When at={lastHeard(each)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Queues({ worker }: { worker: Worker }) {
  return (
    <>
      {worker.queues.map((queue) => (
        <a class="inline" key={queue.name} href={href(["queues", queue.name])}>
          {queue.name}{queue.concurrency > 1 && <span class="quiet"> ×{queue.concurrency}</span>}
        </a>
      ))}
    </>
  );
}

// It has said something when it was last seen, and when it took what it runs.
export function lastHeard(worker: Worker): string {
  return [worker.seen_at, ...worker.running.map((each) => each.since ?? "")].reduce((a, b) => (a > b ? a : b));
}
