// Queues, a page at a time: how full each is, how fast it goes, and what would help.
import { useState } from "preact/hooks";
import { target } from "../api/client";
import type { Queue } from "../api/types";
import { useResource } from "../live/resource";
import { Badge, Empty, Failure, Loading, Meter, Narrow, Panel } from "./basics";
import { Curl } from "./curl";
import { count, durationText, rate, short } from "./format";
import { href } from "./route";

const pageSize = 25;
const orders = [
  ["name", "By name"],
  ["depth", "Deepest first"],
  ["oldest", "Oldest first"],
] as const;

export interface QueuePage {
  queues: Queue[];
  next_cursor?: string;
}

export function QueueList() {
  const [search, setSearch] = useState("");
  const [order, setOrder] = useState("name");
  const [trail, setTrail] = useState<string[]>([]);
  const url = target("/v1/queues", { limit: pageSize, search, order, cursor: trail.at(-1) });
  const page = useResource<QueuePage>(url, (event) => event.type === "stats", 2000);
  const queues = page.data?.queues;
  const next = page.data?.next_cursor;
  return (
    <Panel
      title="Queues"
      actions={
        <>
          <input
            type="search"
            class="small"
            placeholder="Find a queue"
            aria-label="Find a queue"
            value={search}
            onInput={(event) => (setSearch(event.currentTarget.value.trim()), setTrail([]))}
          />
          <select
            class="small"
            aria-label="Order of queues"
            value={order}
            onChange={(event) => (setOrder(event.currentTarget.value), setTrail([]))}
          >
            {orders.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </>
      }
    >
      {page.error && <Failure error={page.error} retry={page.reload} />}
      {page.isLoading && <Loading />}
      {queues && queues.length > 0 && <QueueTable queues={queues} />}
      {queues?.length === 0 && (search ? <Empty title={`No queue is called “${search}”.`} /> : <NoQueues />)}
      {(trail.length > 0 || next) && (
        <nav class="pager" aria-label="Pages of queues">
          <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
            ← Back
          </button>
          <button type="button" disabled={!next} onClick={() => next && setTrail([...trail, next])}>
            More →
          </button>
        </nav>
      )}
    </Panel>
  );
}

function NoQueues() {
  return (
    <Empty title="No queues yet.">
      <p>
        A queue exists from its first task. <a href="#/enqueue">Enqueue one</a> here, or with:
      </p>
      <Curl path="/v1/tasks" body={{ queue: "email", kind: "welcome", payload: { to: "new@example.org" } }} />
    </Empty>
  );
}

function QueueTable({ queues }: { queues: Queue[] }) {
  return (
    <table class="rows queues">
      <thead>
        <tr>
          <th scope="col">Queue</th>
          <th scope="col" class="fill">Unfinished of capacity</th>
          <th scope="col" class="number wide">In</th>
          <th scope="col" class="number wide">Done</th>
          <th scope="col" class="number">Refused</th>
          <th scope="col" class="number wide">Oldest</th>
          <th scope="col" class="wide">Advice</th>
        </tr>
      </thead>
      <tbody>
        {queues.map((each) => (
          <tr key={each.name}>
            <td>
              <a class="row-link" href={href(["queues", each.name])}>
                {each.name}
              </a>
              {each.paused && <Badge state="paused" />}
              <Narrow>in {rate(each.rates.in)}, done {rate(each.rates.done)}</Narrow>
              {each.oldest_ready_age && <Narrow>oldest {durationText(each.oldest_ready_age)}</Narrow>}
              {each.advice && each.advice.capacity > each.settings.capacity && <Narrow><Advice queue={each} /></Narrow>}
            </td>
            <td class="fill">
              <Meter
                value={each.unfinished}
                of={each.settings.capacity}
                label={`${each.name}: unfinished tasks of its capacity`}
                text={`${short(each.unfinished)} / ${short(each.settings.capacity)}`}
              />
            </td>
            <td class="number wide">{rate(each.rates.in)}</td>
            <td class="number wide">{rate(each.rates.done)}</td>
            <td class={`number ${each.rates.rejected > 0 ? "alarming" : ""}`}>{rate(each.rates.rejected)}</td>
            <td class="number wide">{each.oldest_ready_age ? durationText(each.oldest_ready_age) : <span class="quiet">–</span>}</td>
            <td class="wide">
              <Advice queue={each} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Advice({ queue }: { queue: Queue }) {
  const advice = queue.advice;
  if (!advice) return <span class="quiet">–</span>;
  const isEnough = advice.capacity <= queue.settings.capacity;
  return (
    <span class={isEnough ? "quiet" : "alarming"} title={advice.message}>
      {isEnough ? "capacity is enough" : `capacity ${count(advice.capacity)} would do`}
    </span>
  );
}
