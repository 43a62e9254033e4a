// JSON, indented. What is very long is cut until asked for.
import { useMemo, useState } from "preact/hooks";
import { indented, type RawJson } from "../api/raw";
import { Code } from "./basics";
import { bytes } from "./format";

const most = 10_000;

export function JsonView({ value, label }: { value: RawJson; label: string }) {
  const [isWhole, showWhole] = useState(false);
  const text = useMemo(() => indented(value), [value]);
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
