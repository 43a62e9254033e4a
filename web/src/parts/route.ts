// Pages have addresses: "#/tasks?state=dead" is { path: ["tasks"], query: { state: "dead" } }.
import { Signal } from "../live/signal";

export interface Route {
  path: string[];
  query: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

export function href(path: string[], query: Record<string, string | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = new Signal<Route>({ path: [], query: {} });

export function startRouting(): void {
  const look = () => route.set(parseRoute(location.hash));
  addEventListener("hashchange", look);
  look();
}

// A filter that is typed makes no history.
export function replaceRoute(hash: string): void {
  history.replaceState(null, "", hash);
  route.set(parseRoute(hash));
}
