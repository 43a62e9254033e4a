// Throughput, latency and refusals over the last minutes.
import type { History } from "../live/history";
import { Chart } from "./chart";
import { duration, rate, short } from "./format";

export function HistoryCharts({ history }: { history: History }) {
  return (
    <div class="charts">
      <Chart
        title="Throughput"
        times={history.times}
        format={rate}
        lines={[
          { label: "in", color: "--blue", values: history.in },
          { label: "done", color: "--green", values: history.done, fill: true },
          { label: "failed", color: "--red", values: history.failed },
        ]}
      />
      <Chart
        title="Time until a task begins"
        times={history.times}
        format={duration}
        lines={[
          { label: "p50", color: "--blue", values: history.wait_ms_p50 },
          { label: "p99", color: "--violet", values: history.wait_ms_p99 },
        ]}
      />
      <Chart
        title="Refusals: there was no room"
        times={history.times}
        format={rate}
        lines={[{ label: "refused", color: "--amber", values: history.rejected, fill: true }]}
      />
    </div>
  );
}

export function StatesChart({ history }: { history: History }) {
  return (
    <Chart
      title="Tasks by state"
      isCount
      times={history.times}
      format={short}
      lines={[
        { label: "ready", color: "--blue", values: history.states.ready, fill: true },
        { label: "running", color: "--amber", values: history.states.running },
        { label: "scheduled", color: "--violet", values: history.states.scheduled },
        { label: "waiting", color: "--grey", values: history.states.waiting },
        { label: "dead", color: "--red", values: history.states.dead },
      ]}
    />
  );
}
