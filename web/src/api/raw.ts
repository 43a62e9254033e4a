// JSON that stays the text it was. JSON.parse makes 12345678901234567000 of 12345678901234567890, so what belongs to
// others, a payload or a result, is checked but never read and written again.

// Valid JSON, without the space between its parts.
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = [...partsOf(text)].map(([part]) => part).join("");
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
function* partsOf(json: string): Generator<[part: string, at: number]> {
  const start = /["{}[\],:]|[^\s"{}[\],:]+/g;
  for (let found = start.exec(json); found; found = start.exec(json)) {
    if (found[0] === '"') start.lastIndex = endOfString(json, found.index);
    yield [json.slice(found.index, start.lastIndex), found.index];
  }
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
  for (const [part] of partsOf(raw.text)) {
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

// The text of a member of an object, of `json`, which is valid; the last one if there are several, as with JSON.parse.
export function memberOf(json: string, name: string): RawJson | undefined {
  let depth = 0;
  let key = "";
  let before = "";
  let start = 0;
  let found: RawJson | undefined;
  for (const [part, at] of partsOf(json)) {
    if (depth === 1 && (part === "," || part === "}") && key === name && before !== "{") found = new RawJson(json.slice(start, at));
    if (part === "{" || part === "[") depth++;
    if (part === "}" || part === "]") depth--;
    if (depth === 1 && part === ":") {
      key = JSON.parse(before) as string;
      start = at + 1;
    }
    before = part;
  }
  return found;
}
