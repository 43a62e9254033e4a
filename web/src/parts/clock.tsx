// Times that stay true while one looks: all of them are told by one clock, once a second.
import { useEffect } from "preact/hooks";
import { serverNow } from "../api/session";
import { Signal, useSignal } from "../live/signal";
import { age, ago, duration } from "./format";

const second = new Signal(serverNow());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  useEffect(() => {
    if (users++ === 0) timer = setInterval(() => second.set(serverNow()), 1000);
    return () => {
      if (--users === 0) clearInterval(timer);
    };
  }, []);
  return Math.max(useSignal(second), serverNow());
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

// "12s ago", or "in 3m"; the whole of it when pointed at.
export function When({ at }: { at: string | undefined }) {
  const now = useNow();
  if (!at) return <span class="quiet">–</span>;
  const time = Date.parse(at);
  const text = time > now + 1000 ? `in ${duration(Math.round((time - now) / 1000) * 1000)}` : ago(now - time);
  return (
    <time dateTime={at} title={`${full.format(time)} (${at})`}>
      {text}
    </time>
  );
}

// How long it has been.
export function Since({ at }: { at: string | undefined }) {
  const now = useNow();
  if (!at) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={`since ${full.format(Date.parse(at))}`}>
      {age(now - Date.parse(at))}
    </time>
  );
}

export const fullTime = (at: string): string => full.format(Date.parse(at));
