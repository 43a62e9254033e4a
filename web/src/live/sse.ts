// Reads server-sent events out of text that comes in pieces of any size.

export interface ServerEvent {
  id: string | undefined;
  type: string;
  data: string;
}

export class EventParser {
  private rest = "";
  private endedWithReturn = false;
  private id: string | undefined;
  private type = "";
  private data: string[] = [];

  constructor(private readonly onEvent: (event: ServerEvent) => void) {}

  feed(text: string): void {
    if (this.endedWithReturn && text.startsWith("\n")) text = text.slice(1); // One line end, in two pieces.
    if (text === "") return;
    this.endedWithReturn = text.endsWith("\r");
    const lines = (this.rest + text).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? "";
    for (const each of lines) this.line(each);
  }

  private line(line: string): void {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return; // A comment.
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.type = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }

  private dispatch(): void {
    const event = { id: this.id, type: this.type || "message", data: this.data.join("\n") };
    const isEmpty = this.data.length === 0;
    this.type = "";
    this.data = [];
    if (!isEmpty) this.onEvent(event);
  }
}
