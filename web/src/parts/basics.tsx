// Small pieces that every page uses.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { refusal } from "../api/session";
import type { Role } from "../api/types";
import { percent } from "./format";
import { notify } from "./notices";

let isFirst = true;

// The heading takes the focus when a page opens, so that keyboards and screen readers begin there; not the first page,
// before which nobody was anywhere. What had the focus is in the frame, or went with the page before.
export function Page(props: { title: string; above?: ComponentChildren; actions?: ComponentChildren; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · Handoff`;
  }, [props.title]);
  useEffect(() => {
    const { activeElement } = document;
    const isLost = !activeElement || activeElement === document.body || activeElement.closest("main, nav") !== null;
    if (isLost && !isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          {props.above}
          <h1 ref={heading} tabIndex={-1}>
            {props.title}
          </h1>
        </div>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  );
}

export function Panel(props: { title?: string; note?: ComponentChildren; actions?: ComponentChildren; class?: string; children?: ComponentChildren }) {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.title}>
      {props.title && (
        <div class="panel-head">
          <h2>{props.title}</h2>
          {props.note && <span class="quiet">{props.note}</span>}
          {props.actions && <div class="actions">{props.actions}</div>}
        </div>
      )}
      {props.children}
    </section>
  );
}

// The second line of a row's first cell on a phone: what is in the columns that have no room there.
export function Narrow({ children }: { children: ComponentChildren }) {
  return <span class="sub narrow">{children}</span>;
}

export function Badge({ state }: { state: string }) {
  return <span class={`badge ${state}`}>{state}</span>;
}

// A bar that fills: of a queue, or of a task's progress.
export function Meter(props: { value: number; of: number; label: string; text?: string; kind?: "fill" | "progress" }) {
  const fraction = props.of > 0 ? Math.min(1, Math.max(0, props.value / props.of)) : 0;
  const level = props.kind === "progress" ? "progress" : fraction >= 0.95 ? "full" : fraction >= 0.7 ? "high" : "fine";
  return (
    <div class="meter">
      <div
        class="track"
        role={props.kind === "progress" ? "progressbar" : "meter"}
        aria-label={props.label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(fraction * 100)}
        aria-valuetext={props.text ?? percent(fraction)}
      >
        <div class={`level ${level}`} style={{ width: `${fraction * 100}%` }} />
      </div>
      {props.text && <span class="meter-text">{props.text}</span>}
    </div>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} />
    </div>
  );
}

export function Copy({ text }: { text: string }) {
  const [isCopied, say] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(true);
      setTimeout(() => say(false), 1500);
    } catch {
      notify("This page may not use the clipboard.", "bad");
    }
  };
  return (
    <button type="button" class="copy small" onClick={() => void copy()}>
      {isCopied ? "Copied" : "Copy"}
    </button>
  );
}

export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <span>{error.status === 404 ? `Not found: ${error.message}` : `Could not be loaded: ${error.message}.`}</span>
      {retry && error.status !== 404 && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

// A button for what not every token may do: then it says why not.
export function Action(props: {
  needs: Role;
  onClick: () => void | Promise<void>;
  kind?: "primary" | "danger";
  small?: boolean;
  disabled?: string | undefined; // Why not now.
  label?: string; // If the text alone says too little.
  hint?: string; // What it does.
  children: ComponentChildren;
}) {
  const [isBusy, setBusy] = useState(false);
  const why = refusal(props.needs) ?? props.disabled;
  const click = async () => {
    setBusy(true);
    try {
      await props.onClick();
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class={`${props.kind ?? ""} ${props.small ? "small" : ""}`}
      disabled={isBusy || why !== undefined}
      title={why ?? props.hint}
      aria-label={props.label}
      onClick={() => void click()}
    >
      {props.children}
    </button>
  );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
