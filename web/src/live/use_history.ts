// The last minutes of all queues or of one: asked for once, then moved on by the events.
import { useEffect, useRef, useState } from "preact/hooks";
import { target } from "../api/client";
import { client, serverNow } from "../api/session";
import { continues, emptyHistory, type History, type HistoryPart, merged, spanNeeded } from "./history";
import { useLive, useRefresh } from "./live";

export const historySeconds = 300;

// `path` answers with { history }, and with `parameter` how far back.
export function useHistory(path: string, parameter: string): History {
  const [shown, show] = useState({ path, history: emptyHistory() });
  const current = useRef(shown);
  const asked = useRef<AbortController>();
  const known = () => (current.current.path === path ? current.current.history : emptyHistory());
  const add = (part: HistoryPart) => {
    current.current = { path, history: merged(known(), part, historySeconds) };
    show(current.current);
  };
  const load = () => {
    asked.current?.abort();
    const ask = new AbortController();
    asked.current = ask;
    const span = spanNeeded(known(), serverNow(), historySeconds);
    client.call<{ history: HistoryPart }>(target(path, { [parameter]: `${span}s` }), { signal: ask.signal }).then(
      (answer) => !ask.signal.aborted && add(answer.history),
      () => undefined, // The banner says that the server is away; it is asked again when that is over.
    );
  };
  useEffect(() => {
    load();
    return () => asked.current?.abort();
  }, [path]);
  useLive((event) => {
    if (event.type !== "stats" || document.hidden) return;
    const part = event.data.recent;
    if (part && continues(known(), part)) add(part);
  });
  useRefresh(load, (event) => event.type === "stats" && !continues(known(), event.data.recent), 3000);
  return shown.path === path ? shown.history : emptyHistory();
}
