// Tasks that come again and again: when next, and what became of the last.
import { useState } from "preact/hooks";
import { client } from "../api/session";
import type { Schedule } from "../api/types";
import { useResource } from "../live/resource";
import { Action, Badge, Empty, Failure, Loading, Narrow, Page, Panel } from "../parts/basics";
import { When } from "../parts/clock";
import { Curl } from "../parts/curl";
import { Confirm } from "../parts/dialog";
import { notify } from "../parts/notices";
import { href } from "../parts/route";

export function SchedulesPage() {
  const schedules = useResource<{ schedules: Schedule[] }>("/v1/schedules", (event) => event.type === "stats", 3000);
  const [chosen, choose] = useState<Schedule>();
  const all = schedules.data?.schedules;
  const remove = async () => {
    if (!chosen) return;
    await client.call(`/v1/schedules/${encodeURIComponent(chosen.name)}`, { method: "DELETE" });
    notify(`Deleted ${chosen.name}.`);
    schedules.reload();
  };
  return (
    <Page title="Schedules">
      <Panel title="All schedules">
        {schedules.error && <Failure error={schedules.error} retry={schedules.reload} />}
        {schedules.isLoading && <Loading />}
        {all?.length === 0 && <NoSchedules />}
        {all && all.length > 0 && <ScheduleTable schedules={all} reload={schedules.reload} remove={choose} />}
      </Panel>
      {chosen && (
        <Confirm title={`Delete ${chosen.name}?`} action="Delete the schedule" danger run={remove} onClose={() => choose(undefined)}>
          <p>It makes no more tasks. Those it has made stay.</p>
        </Confirm>
      )}
    </Page>
  );
}

function NoSchedules() {
  return (
    <Empty title="No schedules yet.">
      <p>Make one with:</p>
      <Curl path="/v1/schedules/nightly" method="PUT" body={{ cron: "0 3 * * *", timezone: "UTC", task: { queue: "reports", kind: "sales" } }} />
    </Empty>
  );
}

function ScheduleTable(props: { schedules: Schedule[]; reload: () => void; remove: (schedule: Schedule) => void }) {
  const act = (name: string, action: "pause" | "resume") => async () => {
    await client.call(`/v1/schedules/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    notify(action === "pause" ? `${name} is paused.` : `${name} goes on.`);
    props.reload();
  };
  return (
    <table class="rows top">
      <thead>
        <tr>
          <th scope="col">Schedule</th>
          <th scope="col" class="wide">Makes</th>
          <th scope="col">Next run</th>
          <th scope="col" class="wide">Last run</th>
          <th scope="col"><span class="hidden">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        {props.schedules.map((each) => (
          <tr key={each.name}>
            <td>
              <b>{each.name}</b> {each.paused && <Badge state="paused" />}
              <span class="sub mono">{each.cron} {each.timezone}</span>
              <Narrow>makes {each.task.kind}, <a href={href(["queues", each.task.queue])}>{each.task.queue}</a></Narrow>
              <Narrow>last run <LastRun schedule={each} /></Narrow>
            </td>
            <td class="wide">
              {each.task.kind}
              <span class="sub"><a href={href(["queues", each.task.queue])}>{each.task.queue}</a></span>
            </td>
            <td>{each.paused ? <span class="quiet">paused</span> : <When at={each.next_at} />}</td>
            <td class="wide">
              <LastRun schedule={each} />
            </td>
            <td class="row-actions">
              <Action needs="admin" small label={`${each.paused ? "Resume" : "Pause"} ${each.name}`} onClick={act(each.name, each.paused ? "resume" : "pause")}>
                {each.paused ? "Resume" : "Pause"}
              </Action>
              <Action needs="admin" small kind="danger" label={`Delete ${each.name}…`} onClick={() => props.remove(each)}>Delete…</Action>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LastRun({ schedule }: { schedule: Schedule }) {
  const at = <When at={schedule.last_at} />;
  return (
    <>
      {schedule.last_task ? <a href={href(["tasks", schedule.last_task])}>{at}</a> : at}
      {schedule.last_error && <span class="sub alarming">{schedule.last_error}</span>}
    </>
  );
}
