// The frame around every page: where one is, who one is, and whether what is shown is still true.
import { useEffect, useState } from "preact/hooks";
import { enter, leave, open, refusal, session, storedToken } from "./api/session";
import type { ServerLook } from "./api/types";
import { type Filter, filterOf } from "./live/filter";
import { follow, unfollow } from "./live/live";
import { useSignal } from "./live/signal";
import { DeadPage } from "./pages/dead";
import { EnqueuePage } from "./pages/enqueue";
import { OverviewPage } from "./pages/overview";
import { QueuePage } from "./pages/queue";
import { SchedulesPage } from "./pages/schedules";
import { SignInPage } from "./pages/sign_in";
import { TaskPage } from "./pages/task";
import { TasksPage } from "./pages/tasks";
import { WorkersPage } from "./pages/workers";
import { WorkflowPage } from "./pages/workflow";
import { WorkflowsPage } from "./pages/workflows";
import { Empty, Page } from "./parts/basics";
import { ConnectionBanner, ConnectionDot } from "./parts/connection";
import { Notices } from "./parts/notices";
import { type Route, route } from "./parts/route";
import { theme, toggleTheme } from "./parts/theme";

export function App() {
  const now = useSignal(session);
  if (now.is === "asking") return <p class="loading full" role="status">Loading…</p>;
  if (now.is === "locked") return <SignInPage refused={now.refused} enter={enter} />;
  if (now.is === "unreachable") return <Unreachable message={now.message} />;
  return <Frame server={now.server} />;
}

function Unreachable({ message }: { message: string }) {
  useEffect(() => {
    const timer = setInterval(() => void open(), 2000);
    return () => clearInterval(timer);
  }, []);
  return (
    <main class="gate">
      <h1>Handoff</h1>
      <p class="notice bad" role="alert">{message}. Trying again every two seconds.</p>
    </main>
  );
}

const places = [
  ["", "Overview"],
  ["tasks", "Tasks"],
  ["dead", "Dead letters"],
  ["workflows", "Workflows"],
  ["schedules", "Schedules"],
  ["workers", "Workers"],
] as const;

function Frame({ server }: { server: ServerLook }) {
  const here = useSignal(route);
  const filter = JSON.stringify(filterOf(here));
  useEffect(() => follow(JSON.parse(filter) as Filter), [filter]);
  useEffect(() => unfollow, []);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <Side server={server} here={here} />
      <div class="body">
        <ConnectionBanner />
        {refusal("admin") && (
          <p class="banner quiet-banner">Read-only: this token has the role <b>{server.role}</b>. Changes need an <b>admin</b> token.</p>
        )}
        <main id="main" tabIndex={-1}>
          <Shown here={here} />
        </main>
      </div>
      <Notices />
    </div>
  );
}

// The address belongs to the pages.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Side({ server, here }: { server: ServerLook; here: Route }) {
  const [isOpen, setOpen] = useState(false);
  const colours = useSignal(theme);
  const at = here.path[0] === "queues" ? "" : (here.path[0] ?? "");
  useEffect(() => setOpen(false), [here]);
  return (
    <header class={`side ${isOpen ? "open" : ""}`}>
      <div class="brand">
        <a href="#/" class="mark">
          <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect width="32" height="32" rx="7" /><path d="M7 11h11m-4-4 4 4-4 4M25 21H14m4-4-4 4 4 4" /></svg>
          Handoff
        </a>
        <ConnectionDot />
        <button type="button" class="menu small" aria-expanded={isOpen} aria-controls="nav" onClick={() => setOpen(!isOpen)}>Menu</button>
      </div>
      <nav id="nav" aria-label="Pages">
        <ul>
          {places.map(([path, title]) => (
            <li key={path}><a href={`#/${path}`} aria-current={at === path ? "page" : undefined}>{title}</a></li>
          ))}
        </ul>
        <div class="side-foot">
          <button type="button" class="small" onClick={toggleTheme}>{colours === "dark" ? "Light" : "Dark"} colours</button>
          {storedToken() && <button type="button" class="small" onClick={leave}>Forget the token</button>}
          <p class="quiet">{server.version} · <span class="one-line" title={server.store}>{server.store}</span></p>
        </div>
      </nav>
    </header>
  );
}

function Shown({ here }: { here: Route }) {
  const [place, name] = here.path;
  if (place === undefined) return <OverviewPage />;
  if (place === "queues" && name) return <QueuePage key={name} name={name} />;
  if (place === "queues") return <OverviewPage />;
  if (place === "tasks" && name) return <TaskPage key={name} id={name} />;
  if (place === "tasks") return <TasksPage route={here} />;
  if (place === "workflows" && name) return <WorkflowPage key={name} id={name} />;
  if (place === "workflows") return <WorkflowsPage />;
  if (place === "schedules") return <SchedulesPage />;
  if (place === "workers") return <WorkersPage />;
  if (place === "dead") return <DeadPage route={here} />;
  if (place === "enqueue") return <EnqueuePage key={JSON.stringify(here.query)} route={here} />;
  return (
    <Page title="Not found">
      <Empty title="There is no such page."><p><a href="#/">Overview</a></p></Empty>
    </Page>
  );
}
