// JSON that stays the text it was. JSON.parse makes 12345678901234567000 of 12345678901234567890, so what belongs to
// others, a payload or a result, is checked but never read and written again.

// Valid JSON, without the space between its parts.
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = [...partsOf(text)].join("");
  }
}

// As JSON.stringify, and what is raw as it is.
export function toJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => toJson(each ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${toJson(each)}`).join(",")}}`;
}

// Strings, brackets, commas and colons, and what is between them, numbers and words; each with its place. Not one
// expression for all of it: on a string of some megabytes that runs out of stack.
class Parts {
  private readonly pattern = /["{}[\],:]|[^\s"{}[\],:]+/g;
  at = 0;
  end = 0; // Where the next one is looked for.
  constructor(private readonly json: string) {}

  next(): string | undefined {
    this.pattern.lastIndex = this.end;
    const found = this.pattern.exec(this.json);
    if (!found) return undefined;
    this.at = found.index;
    this.end = found[0] === '"' ? endOfString(this.json, this.at) : this.pattern.lastIndex;
    return this.json.slice(this.at, this.end);
  }
}

function* partsOf(json: string): Generator<string> {
  const parts = new Parts(json);
  for (let part = parts.next(); part !== undefined; part = parts.next()) yield part;
}

// A quote ends a string unless an odd number of backslashes is before it.
function endOfString(json: string, begin: number): number {
  for (let quote = json.indexOf('"', begin + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let slash = quote;
    while (json[slash - 1] === "\\") slash--;
    if ((quote - slash) % 2 === 0) return quote + 1;
  }
  return json.length;
}

// As JSON.stringify(value, null, 2).
export function indented(raw: RawJson): string {
  let depth = 0;
  let text = "";
  let before = "";
  const newLine = () => `\n${"  ".repeat(depth)}`;
  for (const part of partsOf(raw.text)) {
    const closes = part === "}" || part === "]";
    const isInEmpty = closes && (before === "{" || before === "[");
    if (closes) depth--;
    if (closes ? !isInEmpty : before === "{" || before === "[" || before === ",") text += newLine();
    text += part === ":" ? ": " : part;
    if (part === "{" || part === "[") depth++;
    before = part;
  }
  return text;
}

// The texts of members of an object, of `json`, which is valid; the last one if there are several, as with JSON.parse.
// What is as it was in the answer before is the same RawJson, and is not read again: of a task that reports its
// progress the payload is in every answer, and may be large.
export class MemberReader {
  private last = new Map<string, { text: string; raw: RawJson }>();
  constructor(private readonly names: readonly string[]) {}

  read(json: string): Map<string, RawJson> {
    const found: typeof this.last = new Map();
    let depth = 0;
    let key = "";
    let before = "";
    let start = 0;
    const parts = new Parts(json);
    for (let part = parts.next(); part !== undefined; part = parts.next()) {
      if (depth === 1 && (part === "," || part === "}") && before !== "{" && this.names.includes(key)) {
        found.set(key, this.raw(key, json.slice(start, parts.at)));
      }
      if (part === "{" || part === "[") depth++;
      if (part === "}" || part === "]") depth--;
      if (depth === 1 && part === ":") {
        key = JSON.parse(before) as string;
        start = parts.end;
        const known = this.last.get(key)?.text;
        if (known !== undefined && json.startsWith(known, start) && /[,}]/.test(json.charAt(start + known.length))) parts.end += known.length;
      }
      before = part;
    }
    this.last = found;
    return new Map([...found].map(([name, { raw }]) => [name, raw]));
  }

  private raw(name: string, text: string): { text: string; raw: RawJson } {
    const known = this.last.get(name);
    return known?.text === text ? known : { text, raw: new RawJson(text) };
  }
}
