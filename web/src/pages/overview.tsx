// How it is going, at a glance.
import { age, count, parseDuration, rate, short } from "../parts/format";
import { session } from "../api/session";
import { useState } from "preact/hooks";
import type { Totals } from "../api/types";
import { useLive } from "../live/live";
import { useSignal } from "../live/signal";
import { useHistory } from "../live/use_history";
import { Page } from "../parts/basics";
import { HistoryCharts } from "../parts/history_charts";
import { QueueList } from "../parts/queue_list";
import { TryIt } from "../parts/try_it";

export function OverviewPage() {
  const history = useHistory("/v1/totals", "history");
  const [totals, setTotals] = useState<Totals>();
  useLive((event) => {
    if (event.type === "stats" && event.data.totals) setTotals(event.data.totals);
  });
  const now = useSignal(session);
  return (
    <Page
      title="Overview"
      actions={
        <a class="button primary" href="#/enqueue">
          Enqueue
        </a>
      }
    >
      {now.is === "open" && now.server.demo && <TryIt />}
      <Tiles totals={totals} />
      <HistoryCharts history={history} />
      <QueueList />
    </Page>
  );
}

function Tiles({ totals }: { totals: Totals | undefined }) {
  const n = (value: number | undefined) => (value === undefined ? "–" : short(value));
  const state = (name: string, value: number | undefined) => (
    <Tile label={name} value={n(value)} kind={name} href={`#/tasks?state=${name}`} title={value === undefined ? "" : count(value)} />
  );
  return (
    <ul class="tiles" aria-label="Tasks now">
      {state("ready", totals?.counts.ready)}
      {state("running", totals?.counts.running)}
      {state("scheduled", totals?.counts.scheduled)}
      {state("waiting", totals?.counts.waiting)}
      <Tile label="done" kind="done" value={totals ? rate(totals.rates.done) : "–"} href="#/tasks?state=done" title="In the last minute" />
      <Tile label="refused" kind="refused" value={totals ? rate(totals.rates.rejected) : "–"} title="There was no room, in the last minute" />
      <Tile label="dead" kind="dead" value={n(totals?.counts.dead)} href="#/dead" title={totals ? count(totals.counts.dead) : ""} />
      <Tile label="oldest" kind="plain" value={totals?.oldest_ready_age ? age(parseDuration(totals.oldest_ready_age) ?? 0) : "–"} title="How long the one has waited that has waited longest" />
    </ul>
  );
}

function Tile(props: { label: string; value: string; kind: string; href?: string; title?: string }) {
  const inside = (
    <>
      <span class="tile-label">{props.label}</span>
      <span class="tile-value">{props.value}</span>
    </>
  );
  return (
    <li class={`tile ${props.kind}`} title={props.title}>
      {props.href ? <a href={props.href}>{inside}</a> : <div>{inside}</div>}
    </li>
  );
}
