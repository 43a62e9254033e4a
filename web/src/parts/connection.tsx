// Says whether what is shown is still true.
import { connection, mayBeOld, reconnect } from "../live/live";
import { useSignal } from "../live/signal";
import { useNow } from "./clock";

export function ConnectionBanner() {
  const state = useSignal(connection);
  if (!useSignal(mayBeOld)) return null;
  return <Cut retryAt={state.is === "cut" ? state.retryAt : 0} />;
}

function Cut({ retryAt }: { retryAt: number }) {
  useNow(); // Redraws once a second.
  const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  return (
    <div class="banner bad-banner" role="alert">
      <span>The connection is cut: what you see may be old.</span>
      <span aria-hidden="true">{seconds > 0 ? `Trying again in ${seconds}s.` : "Trying again."}</span>
      <button type="button" class="small" onClick={reconnect}>Try now</button>
    </div>
  );
}

const words = { open: "live", connecting: "connecting", cut: "cut" } as const;

export function ConnectionDot() {
  const { is } = useSignal(connection);
  return <span class={`dot ${is}`} title={`The stream of events: ${words[is]}`}>{words[is]}</span>;
}
