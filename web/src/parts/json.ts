// Tells where JSON is wrong, as it is typed.

export type Checked = { ok: true; value: unknown } | { ok: false; line: number; column: number; message: string };

export function checkJson(text: string): Checked {
  try {
    return { ok: true, value: text.trim() === "" ? null : JSON.parse(text) };
  } catch {
    const at = firstError(text);
    const before = text.slice(0, at).split("\n");
    return {
      ok: false,
      line: before.length,
      column: (before.at(-1) ?? "").length + 1,
      message: at >= text.trimEnd().length ? "something is missing at the end" : `unexpected ${named(text, at)}`,
    };
  }
}

const named = (text: string, at: number): string => JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0));

// Browsers word their errors differently, and some leave out the place; so this reads it again, to the first character
// that cannot be right. text.length if it only ends too early.
function firstError(text: string): number {
  let at = 0;
  class Wrong extends Error {}
  const fail = (): never => {
    throw new Wrong();
  };
  const space = () => {
    while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
  };
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  const word = (expected: string) => {
    for (const letter of expected) {
      if (text.charAt(at) !== letter) fail();
      at++;
    }
  };
  const string = () => {
    word('"');
    match(/(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y);
    word('"');
  };
  const list = (close: string, item: () => void) => {
    at++;
    space();
    if (text.charAt(at) === close) return void at++;
    for (;;) {
      item();
      space();
      if (text.charAt(at) === close) return void at++;
      word(",");
      space();
    }
  };
  const value = (): void => {
    space();
    const first = text.charAt(at);
    if (first === "{") {
      return list("}", () => {
        string();
        space();
        word(":");
        value();
      });
    }
    if (first === "[") return list("]", value);
    if (first === '"') return string();
    if (first === "t") return word("true");
    if (first === "f") return word("false");
    if (first === "n") return word("null");
    if (!match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y)) fail();
  };
  try {
    value();
    space();
  } catch (error) {
    if (!(error instanceof Wrong)) return text.length; // Nested too deep for us.
  }
  return at;
}
