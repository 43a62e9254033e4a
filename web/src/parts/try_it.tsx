// Shown with --demo: things to set off, and to watch.
import { client } from "../api/session";
import { useResource } from "../live/resource";
import { Action, Panel } from "./basics";
import { notify } from "./notices";

interface DemoThing {
  name: string;
  title?: string;
  description?: string;
}

export function TryIt() {
  const demo = useResource<{ demo?: DemoThing[] }>("/v1/demo");
  const things = demo.data?.demo ?? [];
  if (things.length === 0) return null;
  return (
    <Panel title="Try it" note="Set something off, and watch what becomes of it below." class="try">
      <ul class="try-list">
        {things.map((each) => (
          <li key={each.name}>
            <Action
              needs="produce"
              onClick={async () => {
                await client.call(`/v1/demo/${encodeURIComponent(each.name)}`, { method: "POST", body: {} });
                notify(`${each.title ?? each.name}: on its way.`);
              }}
            >
              {each.title ?? each.name}
            </Action>
            <span class="quiet">{each.description}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
