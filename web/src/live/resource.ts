// Something the server has, loaded when the page opens and again when it changes. The last answer stays on the page
// while a new one is on its way, so that nothing jumps.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { client } from "../api/session";
import { type LiveEvent, useLive, useRefresh } from "./live";
import { oneAtATime } from "./one_at_a_time";

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  reload(): void;
}

interface Shown<T> {
  url: string | undefined;
  data: T | undefined;
  error: ApiError | undefined;
}

// While the server is away the last answer stays as it is: the banner says that it may be old.
function failed<T>(before: Shown<T>, url: string, error: ApiError): Shown<T> {
  const data = before.url === url ? before.data : undefined;
  return { url, data, error: data !== undefined && error.status === 0 ? undefined : error };
}

export function useResource<T>(
  url: string | undefined, // Nothing: not now.
  matters: (event: LiveEvent) => boolean = () => false,
  interval = 1000,
  // What it loads may depend on the address only.
  load: (url: string, signal: AbortSignal) => Promise<T> = (url, signal) => client.call<T>(url, { signal }),
): Resource<T> {
  const [shown, show] = useState<Shown<T>>({
    url,
    data: undefined,
    error: undefined,
  });
  const loading = useMemo(
    () =>
      oneAtATime(async (signal) => {
        if (url === undefined) return;
        try {
          const data = await load(url, signal);
          if (!signal.aborted) show({ url, data, error: undefined });
        } catch (error) {
          if (signal.aborted) return;
          const failure = error instanceof ApiError ? error : new ApiError(0, "internal", String(error));
          show((before) => failed(before, url, failure));
        }
      }),
    [url],
  );
  const reload = loading.ask;
  useEffect(() => {
    reload();
    return loading.abandon;
  }, [loading]);
  useLive((event) => {
    if (event.type === "open" && event.again) loading.abandon(); // Of what was asked before the cut nothing may ever be heard.
  });
  useRefresh(reload, matters, interval);
  const isCurrent = shown.url === url;
  return {
    data: isCurrent ? shown.data : undefined,
    error: isCurrent ? shown.error : undefined,
    isLoading: !isCurrent || (shown.data === undefined && shown.error === undefined),
    reload,
  };
}
