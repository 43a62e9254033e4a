// What the pages hear: one stream for each tab that is looked at, about what its page shows.
import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "../api/session";
import { target } from "../api/client";
import type { Totals } from "../api/types";
import { type Filter, noTasks } from "./filter";
import type { HistoryPart } from "./history";
import type { ServerEvent } from "./sse";
import { Signal } from "./signal";
import { EventStream, type StreamState } from "./stream";
import { throttle } from "./throttle";

export interface Stats {
  totals?: Totals; // Of all queues; not if one is followed.
  recent?: HistoryPart; // The last seconds.
}

export type LiveEvent =
  | { type: "task"; id: string; queue: string; state: string }
  | { type: "stats"; data: Stats }
  | { type: "gap" } // Something was missed: what is shown must be asked for again.
  | { type: "open"; again: boolean }; // Again: after it was cut.

export const connection = new Signal<StreamState>({ is: "connecting" });

// What is shown may be old: from a cut until the stream is open again, whatever page one goes to meanwhile.
export const mayBeOld = new Signal(false);

const listeners = new Set<(event: LiveEvent) => void>();
let stream: EventStream | undefined;
let followed = "";

function tell(event: LiveEvent): void {
  for (const each of [...listeners]) each(event);
}

export function toLiveEvent({ type, data }: ServerEvent): LiveEvent | undefined {
  if (type === "gap") return { type };
  if (type !== "task" && type !== "stats") return undefined;
  try {
    const read = JSON.parse(data) as { id: string; queue: string; state: string } & Stats;
    return type === "stats" ? { type, data: read } : { type, id: read.id, queue: read.queue, state: read.state };
  } catch {
    return { type: "gap" }; // What cannot be read was missed.
  }
}

const urlOf = (filter: Filter) => target("/v1/events", { ...filter, stats: "totals" });

// What the server refuses to tell of, as it is malformed or forgotten, is no reason to call the connection cut: then
// it tells how it is going, as to a page that shows no tasks.
export async function opened(url: string, ask: (url: string) => Promise<Response>): Promise<Response> {
  const answer = await ask(url);
  return answer.status === 400 || answer.status === 404 ? ask(urlOf(noTasks)) : answer;
}

export function follow(filter: Filter): void {
  const url = urlOf(filter);
  if (stream && url === followed) return;
  stream?.stop();
  followed = url;
  stream = new EventStream({
    connect: (lastId, signal) =>
      opened(url, (each) =>
        client.fetch(each, {
          headers: { ...client.headers(), ...(lastId ? { "Last-Event-ID": lastId } : {}) },
          cache: "no-store",
          signal,
        }),
      ),
    onEvent: (event) => {
      const live = toLiveEvent(event);
      if (live) tell(live);
    },
    onState: (state) => {
      connection.set(state);
      if (state.is === "cut") mayBeOld.set(true);
      if (state.is !== "open") return;
      const again = mayBeOld.value;
      mayBeOld.set(false);
      tell({ type: "open", again });
    },
  });
  document.addEventListener("visibilitychange", onLook); // Once, however often it is said.
  onLook();
}

function onLook(): void {
  if (document.hidden) stream?.rest();
  else stream?.start();
}

export function unfollow(): void {
  stream?.stop();
  stream = undefined;
  mayBeOld.set(false);
}

export const reconnect = (): void => stream?.start();

export function useLive(listener: (event: LiveEvent) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const hear = (event: LiveEvent) => latest.current(event);
    listeners.add(hear);
    return () => void listeners.delete(hear);
  }, []);
}

// Calls `refresh` for events that matter, at most every `interval`, and not while nobody looks.
export function useRefresh(refresh: () => void, matters: (event: LiveEvent) => boolean, interval = 1000): void {
  const latest = useRef(refresh);
  latest.current = refresh;
  const [ask] = useState(() => throttle(() => latest.current(), interval));
  const wasHidden = useRef(false);
  useLive((event) => {
    const isNews = event.type === "gap" || event.type === "open" || matters(event);
    if (!isNews) return;
    if (document.hidden) wasHidden.current = true;
    else ask();
  });
  useEffect(() => {
    const look = () => {
      if (document.hidden || !wasHidden.current) return;
      wasHidden.current = false;
      ask();
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      ask.cancel();
    };
  }, []);
}
