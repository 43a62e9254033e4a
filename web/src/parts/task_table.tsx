// Tasks as rows, each a link to its page.
import type { Task } from "../api/types";
import { Badge, Meter, Narrow } from "./basics";
import { When } from "./clock";
import { percent, shortId } from "./format";
import { href } from "./route";

export function TaskTable({ tasks }: { tasks: Task[] }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Task</th>
          <th scope="col">State</th>
          <th scope="col" class="wide">Queue</th>
          <th scope="col" class="wide number">Attempt</th>
          <th scope="col" class="wide">Group</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {tasks.map((each) => (
          <tr key={each.id}>
            <td>
              <a class="row-link" href={href(["tasks", each.id])}>
                {each.kind}
              </a>
              <span class="sub mono">{shortId(each.id)}</span>
              <Narrow>
                {each.queue}
                {each.attempt > 0 && <>, attempt {each.attempt}/{each.max_attempts}</>}
                {each.group && <>, group {each.group}</>}
              </Narrow>
            </td>
            <td>
              <Badge state={each.state} />
              <Said task={each} />
            </td>
            <td class="wide">{each.queue}</td>
            <td class="wide number">
              {each.attempt}/{each.max_attempts}
            </td>
            <td class="wide">{each.group ?? <span class="quiet">–</span>}</td>
            <td>
              <When at={each.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Said({ task }: { task: Task }) {
  if (task.state === "running" && task.progress.fraction > 0) {
    return (
      <Meter kind="progress" value={task.progress.fraction} of={1} label={`Progress of ${task.kind}`} text={percent(task.progress.fraction)} />
    );
  }
  const error = task.errors.at(-1)?.message;
  const said = task.state === "done" ? undefined : (task.reason ?? error);
  return said ? <span class="sub one-line" title={said}>{said}</span> : null;
}
