// Shown with --demo: things to set off, and to watch.
import { useState } from "preact/hooks";
import { client } from "../api/session";
import { useResource } from "../live/resource";
import { Action, Panel } from "./basics";
import { notify } from "./notices";
import { href } from "./route";

interface Thing {
  name: string;
  title: string;
  description: string;
  queue: string;
}

interface Started {
  message: string;
  tasks?: string[];
  workflow?: string;
}

const invitation = "Set something off, and watch what becomes of it.";

// What each does is said below while it is pointed at, so that the panel stays small.
export function TryIt() {
  const demo = useResource<{ things: Thing[] }>("/v1/demo");
  const [said, say] = useState(invitation);
  const things = demo.data?.things ?? [];
  if (things.length === 0) return null;
  return (
    <Panel title="Try it" class="try">
      <ul class="try-list">
        {things.map((each) => (
          <li key={each.name} onMouseEnter={() => say(each.description)} onFocusIn={() => say(each.description)}>
            <Action needs="produce" onClick={() => start(each)} hint={each.description}>
              {each.title}
            </Action>
          </li>
        ))}
      </ul>
      <p class="quiet">{said}</p>
    </Panel>
  );
}

async function start(thing: Thing): Promise<void> {
  const started = await client.call<Started>(`/v1/demo/${encodeURIComponent(thing.name)}`, { method: "POST" });
  notify(started.message, "good", placeOf(thing, started));
}

// Where one sees most of it.
export function placeOf(thing: Pick<Thing, "queue">, started: Started): { href: string; text: string } {
  if (started.workflow) return { href: href(["workflows", started.workflow]), text: "Watch the workflow" };
  const [task, ...others] = started.tasks ?? [];
  if (task && others.length === 0) return { href: href(["tasks", task]), text: "Watch the task" };
  return { href: href(["queues", thing.queue]), text: `Watch the queue ${thing.queue}` };
}
