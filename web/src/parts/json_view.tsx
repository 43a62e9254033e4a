// JSON, indented. What is very long is cut until asked for.
import { useState } from "preact/hooks";
import type { Json } from "../api/types";
import { Code } from "./basics";
import { bytes } from "./format";

const most = 10_000;

export function JsonView({ value, label }: { value: Json; label: string }) {
  const [isWhole, showWhole] = useState(false);
  const text = JSON.stringify(value, null, 2);
  const isCut = text.length > most && !isWhole;
  return (
    <>
      <Code label={label} text={isCut ? `${text.slice(0, most)}\n…` : text} />
      {isCut && (
        <button type="button" class="small" onClick={() => showWhole(true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </>
  );
}
