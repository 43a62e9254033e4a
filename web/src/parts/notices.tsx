// What was done, or could not be: said once, at the edge of the page.
import { Signal, useSignal } from "../live/signal";

interface Notice {
  id: number;
  text: string;
  kind: "good" | "bad";
  link?: { href: string; text: string };
}

const notices = new Signal<Notice[]>([]);
let last = 0;

export function notify(text: string, kind: "good" | "bad" = "good", link?: Notice["link"]): void {
  const notice: Notice = link ? { id: ++last, text, kind, link } : { id: ++last, text, kind };
  notices.set([...notices.value.slice(-3), notice]);
  setTimeout(() => dismiss(notice.id), kind === "bad" ? 12_000 : 6000);
}

const dismiss = (id: number) => notices.set(notices.value.filter((each) => each.id !== id));

export function Notices() {
  const shown = useSignal(notices);
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown.map((each) => (
        <div key={each.id} class={`notice ${each.kind}`}>
          <span>
            {each.text} {each.link && <a href={each.link.href}>{each.link.text}</a>}
          </span>
          <button type="button" class="small plain" aria-label="Dismiss" onClick={() => dismiss(each.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
