import { describe, expect, it } from "vitest";
import { layout, type Node } from "./layers";

const crossings = (nodes: Node[]): number => {
  const { places } = layout(nodes);
  const edges = nodes.flatMap((node) => node.after.map((each) => [places.get(each)!, places.get(node.name)!] as const));
  let number = 0;
  for (const [a, b] of edges)
    for (const [c, d] of edges) if (a.layer === c.layer && b.layer === d.layer && a.row < c.row && b.row > d.row) number++;
  return number;
};

describe("layout", () => {
  it("puts a step to the right of all it waits for", () => {
    const nodes = [
      { name: "d", after: ["a", "c"] },
      { name: "a", after: [] },
      { name: "b", after: ["a"] },
      { name: "c", after: ["b"] },
    ];
    const { places, layers, rows } = layout(nodes);
    for (const node of nodes) for (const each of node.after) expect(places.get(each)!.layer).toBeLessThan(places.get(node.name)!.layer);
    expect([layers, rows]).toEqual([4, 1]);
  });
  it("gives no two steps one place", () => {
    const nodes = Array.from({ length: 60 }, (_, i) => ({ name: `s${i}`, after: i < 6 ? [] : [`s${i - 6}`, `s${i - 5}`] }));
    const { places } = layout(nodes);
    expect(new Set([...places.values()].map((each) => `${each.layer} ${each.row}`)).size).toBe(60);
  });
  it("crosses no lines that need not cross", () => {
    expect(crossings([
      { name: "a", after: [] }, { name: "b", after: [] }, { name: "c", after: [] },
      { name: "x", after: ["c"] }, { name: "y", after: ["a"] }, { name: "z", after: ["b"] },
    ])).toBe(0);
  });
  it("centres a layer with fewer steps", () => {
    const { places } = layout([{ name: "a", after: [] }, { name: "b", after: ["a"] }, { name: "c", after: ["a"] }]);
    expect(places.get("a")!.row).toBe(0.5);
  });
  it("ends with a circle, and with nothing", () => {
    expect(layout([{ name: "a", after: ["b"] }, { name: "b", after: ["a"] }]).places.size).toBe(2);
    expect(layout([])).toEqual({ places: new Map(), layers: 0, rows: 1 });
  });
});
