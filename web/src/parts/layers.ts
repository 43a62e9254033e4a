// Where the steps of a workflow are drawn: in layers from left to right, each to the right of all it waits for, and
// ordered in its layer so that few lines cross.

export interface Node {
  name: string;
  after: string[];
}

export interface Place {
  layer: number;
  row: number; // May be a half: a layer with fewer steps is centred.
}

export interface Layout {
  places: Map<string, Place>;
  layers: number;
  rows: number;
}

export function layout(nodes: Node[]): Layout {
  const layers = ordered(layered(nodes), nodes);
  const rows = Math.max(1, ...layers.map((each) => each.length));
  const places = new Map<string, Place>();
  layers.forEach((names, layer) =>
    names.forEach((name, index) => places.set(name, { layer, row: index + (rows - names.length) / 2 })),
  );
  return { places, layers: layers.length, rows };
}

function layered(nodes: Node[]): string[][] {
  const byName = new Map(nodes.map((each) => [each.name, each]));
  const depths = new Map<string, number>();
  const depth = (name: string, above: Set<string>): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    if (above.has(name)) return 0; // A circle: the server refuses them.
    above.add(name);
    let deepest = 0;
    for (const each of byName.get(name)?.after ?? []) {
      if (byName.has(each)) deepest = Math.max(deepest, depth(each, above) + 1);
    }
    above.delete(name);
    depths.set(name, deepest);
    return deepest;
  };
  const layers: string[][] = [];
  for (const { name } of nodes) (layers[depth(name, new Set())] ??= []).push(name);
  return Array.from(layers, (each) => each ?? []);
}

// Each step goes to the middle of its neighbours, to and fro (Sugiyama's barycentres).
function ordered(layers: string[][], nodes: Node[]): string[][] {
  const before = new Map(nodes.map((each) => [each.name, each.after]));
  const next = new Map<string, string[]>();
  for (const each of nodes) for (const name of each.after) next.set(name, [...(next.get(name) ?? []), each.name]);
  const sorted = layers.map((each) => [...each]);
  for (let round = 0; round < 4; round++) {
    const neighbours = round % 2 === 0 ? before : next;
    const places = new Map(sorted.flatMap((names) => names.map((name, i) => [name, (i + 0.5) / names.length] as const)));
    for (const names of round % 2 === 0 ? sorted : [...sorted].reverse()) {
      const middle = new Map(names.map((name) => [name, mean(neighbours.get(name) ?? [], places) ?? places.get(name) ?? 0]));
      names.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
      names.forEach((name, i) => places.set(name, (i + 0.5) / names.length));
    }
  }
  return sorted;
}

function mean(names: string[], places: Map<string, number>): number | undefined {
  const known = names.map((each) => places.get(each)).filter((each) => each !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0) / known.length;
}
