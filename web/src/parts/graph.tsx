// Draws the steps of a workflow and what waits for what.
import type { Step } from "../api/types";
import { percent } from "./format";
import { layout, type Place } from "./layers";
import { href } from "./route";

const width = 168;
const height = 52;
const gapX = 56;
const gapY = 20;

const left = (place: Place) => 8 + place.layer * (width + gapX);
const top = (place: Place) => 8 + place.row * (height + gapY);

export function Graph({ steps }: { steps: Step[] }) {
  const { places, layers, rows } = layout(steps);
  const size = { width: 16 + layers * (width + gapX) - gapX, height: 16 + rows * (height + gapY) - gapY };
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Graph of the workflow">
      <svg {...size} viewBox={`0 0 ${size.width} ${size.height}`} role="group" aria-label="Steps">
        {steps.flatMap((step) => step.after.map((before) => <Edge key={`${before} ${step.name}`} from={places.get(before)} to={places.get(step.name)} />))}
        {steps.map((step) => <Box key={step.name} step={step} place={places.get(step.name)} />)}
      </svg>
    </div>
  );
}

function Edge({ from, to }: { from: Place | undefined; to: Place | undefined }) {
  if (!from || !to) return null;
  const x1 = left(from) + width;
  const y1 = top(from) + height / 2;
  const x2 = left(to) - 5;
  const y2 = top(to) + height / 2;
  const bend = (x2 - x1) / 2;
  return (
    <g class="edge">
      <path d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />
      <path class="tip" d={`M${x2 - 4} ${y2 - 4}L${x2 + 3} ${y2}L${x2 - 4} ${y2 + 4}Z`} />
    </g>
  );
}

function Box({ step, place }: { step: Step; place: Place | undefined }) {
  if (!place) return null;
  const said = step.state === "running" && step.progress > 0 ? `running, ${percent(step.progress)}` : step.state;
  return (
    <a class={`step ${step.state}`} href={href(["tasks", step.task])} aria-label={`${step.name}: ${said}`}>
      <title>{`${step.name}: ${said}${step.reason ? `, ${step.reason}` : ""}`}</title>
      <rect x={left(place)} y={top(place)} width={width} height={height} rx={8} />
      {step.progress > 0 && step.state === "running" && (
        <rect class="part" x={left(place) + 8} y={top(place) + height - 7} width={(width - 16) * Math.min(1, step.progress)} height={3} rx={1.5} />
      )}
      <circle cx={left(place) + 16} cy={top(place) + height / 2} r={5} />
      <text x={left(place) + 30} y={top(place) + 22} class="step-name">{cut(step.name)}</text>
      <text x={left(place) + 30} y={top(place) + 38} class="step-state">{said}</text>
    </a>
  );
}

const cut = (name: string): string => (name.length > 18 ? `${name.slice(0, 17)}…` : name);
