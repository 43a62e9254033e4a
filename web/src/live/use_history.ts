// The last minutes of all queues or of one: asked for once, then moved on by the events.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { target } from "../api/client";
import { client, serverNow } from "../api/session";
import { continues, emptyHistory, type History, type HistoryPart, merged, spanNeeded } from "./history";
import { useLive, useRefresh } from "./live";
import { oneAtATime } from "./one_at_a_time";

export const historySeconds = 300;

// `path` answers with { history }, and with `parameter` how far back.
export function useHistory(path: string, parameter: string): History {
  const [shown, show] = useState({ path, history: emptyHistory() });
  const current = useRef(shown);
  const known = () => (current.current.path === path ? current.current.history : emptyHistory());
  const add = (part: HistoryPart) => {
    current.current = { path, history: merged(known(), part, historySeconds) };
    show(current.current);
  };
  const loading = useMemo(
    () =>
      oneAtATime(async (signal) => {
        const span = spanNeeded(known(), serverNow(), historySeconds);
        try {
          const answer = await client.call<{ history: HistoryPart }>(target(path, { [parameter]: `${span}s` }), { signal });
          if (!signal.aborted) add(answer.history);
        } catch {
          // The banner says that the server is away; it is asked again when that is over.
        }
      }),
    [path],
  );
  useEffect(() => {
    loading.ask();
    return loading.abandon;
  }, [loading]);
  useLive((event) => {
    if (event.type === "open" && event.again) loading.abandon();
  });
  useLive((event) => {
    if (event.type !== "stats" || document.hidden) return;
    const part = event.data.recent;
    if (part && continues(known(), part)) add(part);
  });
  useRefresh(loading.ask, (event) => event.type === "stats" && !continues(known(), event.data.recent), 3000);
  return shown.path === path ? shown.history : emptyHistory();
}
