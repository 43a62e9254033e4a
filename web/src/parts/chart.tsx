// A line chart that moves with time. What it shows last is also there as text.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSignal } from "../live/signal";
import { theme } from "./theme";

export interface Line {
  label: string;
  color: string; // The name of a custom property: "--blue".
  values: (number | null)[];
  fill?: boolean;
}

interface ChartProps {
  title: string;
  times: number[]; // Seconds since 1970.
  lines: Line[];
  format: (value: number) => string;
  isCount?: boolean; // Only whole numbers are written at the side.
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const colours = useSignal(theme);
  const shape = props.lines.map((each) => each.label).join();
  const isEmpty = props.times.length < 2;
  const format = useRef(props.format);
  format.current = props.format;

  useEffect(() => {
    const parent = box.current;
    if (!parent || isEmpty) return;
    const size = () => ({ width: Math.max(100, parent.clientWidth), height: 150 });
    const made = new uPlot(options(props, (n) => format.current(n), size()), dataOf(props), parent);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize(size()));
    watch.observe(parent);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, colours, isEmpty]);

  useEffect(() => {
    plot.current?.setData(dataOf(props));
  }, [props.times, props.lines]);

  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        <span class="legend">
          {props.lines.map((each) => (
            <span key={each.label}>
              <i class={`key ${each.color.slice(2)}`} />
              {each.label} <b>{lastText(each, props.format)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div class="plot" ref={box} aria-hidden="true">
        {isEmpty && <p class="quiet">A moment: it is drawn from what happens.</p>}
      </div>
    </figure>
  );
}

const dataOf = (props: ChartProps): uPlot.AlignedData => [props.times, ...props.lines.map((each) => each.values)];

function lastText(line: Line, format: (value: number) => string): string {
  const last = line.values.findLast((each) => each !== null);
  return last === undefined || last === null ? "–" : format(last);
}

const wholeSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();
const clock = new Intl.DateTimeFormat(undefined, { minute: "2-digit", second: "2-digit" });
const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function options(props: ChartProps, format: (n: number) => string, size: { width: number; height: number }): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--text-2"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    ...size,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, niceAbove(most))] } },
    axes: [
      {
        ...axis,
        size: 24,
        space: 46,
        incrs: [5, 15, 30, 60, 120, 300],
        values: (_, ticks, __, ___, step) => ticks.map((each) => (step < 60 ? clock : minutes).format(each * 1000)),
      },
      { ...axis, size: 52, space: 34, ...(props.isCount ? { incrs: wholeSteps } : {}), values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...props.lines.map((each) => ({
        label: each.label,
        stroke: colour(each.color),
        width: 1.5,
        points: { show: false },
        ...(each.fill ? { fill: `${colour(each.color)}22` } : {}),
      })),
    ],
  };
}

export function niceAbove(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
  return power * (steps.find((each) => each * power >= most * 1.05) ?? 15);
}
