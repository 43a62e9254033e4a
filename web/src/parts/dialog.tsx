// A question that must be answered first. The browser keeps the focus inside, and gives it back afterwards.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={title}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
    >
      <h2 id={title}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

export function Confirm(props: {
  title: string;
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const run = async () => {
    setBusy(true);
    try {
      await props.run();
      props.onClose();
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.children}
      {error && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" onClick={props.onClose}>
          Back
        </button>
        <button
          type="button"
          class={props.danger ? "danger" : "primary"}
          disabled={isBusy || props.disabled}
          onClick={() => void run()}
        >
          {props.action}
        </button>
      </div>
    </Dialog>
  );
}
