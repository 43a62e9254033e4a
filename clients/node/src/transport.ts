// One request, one answer. Knows nothing of tasks, and tries nothing twice.
//
// node:http rather than fetch, for one reason: a claim that waits must end without losing what the server may just have put into its answer. So we end only
// our side of the connection (`hurry`); the server answers early, and that answer is read. With fetch one can only close both.
import * as http from "node:http";
import * as https from "node:https";
import { errorOf, HandoffError, type ErrorCode } from "./errors.js";

export interface TransportOptions {
  url: string;
  token?: string | undefined;
  ca?: string | Buffer | undefined;
}

export interface Request {
  method: string;
  path: string;
  body?: string | undefined;
  contentType?: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined; // Aborted: the connection is closed.
  hurry?: AbortSignal | undefined; // Aborted: the server is asked to answer now.
}

export interface Answer {
  status: number;
  body: unknown; // JSON, or undefined if there is none.
}

const hurryForMs = 5000;

export class Transport {
  readonly #url: URL;
  readonly #headers: Record<string, string> = { accept: "application/json" };
  readonly #agent: http.Agent;

  constructor(options: TransportOptions) {
    this.#url = new URL(options.url);
    if (!/^https?:$/.test(this.#url.protocol)) throw new TypeError(`the URL of the server begins with http:// or https://, got ${options.url}`);
    if (options.token) this.#headers["authorization"] = `Bearer ${options.token}`;
    this.#agent = this.#url.protocol === "https:"
      ? new https.Agent({ keepAlive: true, scheduling: "lifo", ...(options.ca ? { ca: options.ca } : {}) })
      : new http.Agent({ keepAlive: true, scheduling: "lifo" });
  }

  get url(): string {
    return this.#url.href;
  }

  // Closes the connections that are kept.
  close(): void {
    this.#agent.destroy();
  }

  send(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      const { request: begin } = this.#url.protocol === "https:" ? https : http;
      const headers = { ...this.#headers };
      if (request.body !== undefined) headers["content-type"] = request.contentType ?? "application/json";
      const outgoing = begin(new URL(this.#url.pathname.replace(/\/$/, "") + request.path, this.#url), {
        method: request.method,
        headers: request.body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(request.body)) },
        agent: this.#agent,
      });

      const timers = [setTimeout(() => outgoing.destroy(new Error(`no answer within ${request.timeoutMs} ms`)), request.timeoutMs)];
      const onAbort = (): void => void outgoing.destroy(new Error("aborted"));
      const endOurSide = (): void => void outgoing.socket?.end();
      const onHurry = (): void => {
        timers.push(setTimeout(() => outgoing.destroy(new Error("no answer in a hurry")), hurryForMs));
        if (outgoing.writableFinished) endOurSide();
        else outgoing.once("finish", endOurSide);
      };
      request.signal?.addEventListener("abort", onAbort);
      request.hurry?.addEventListener("abort", onHurry);
      if (request.hurry?.aborted) onHurry();
      const end = (): void => {
        timers.forEach(clearTimeout);
        request.signal?.removeEventListener("abort", onAbort);
        request.hurry?.removeEventListener("abort", onHurry);
      };
      const fail = (error: unknown): void => {
        end();
        const why = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error);
        reject(request.signal?.aborted ? request.signal.reason : errorOf("unreachable", `${this.#url.origin}: ${why}`, { cause: error }));
      };

      outgoing.on("error", fail);
      outgoing.on("response", (incoming) => {
        const parts: Buffer[] = [];
        incoming.on("data", (part: Buffer) => parts.push(part));
        incoming.on("error", fail);
        incoming.on("close", () => {
          if (!incoming.complete) return fail(new Error("the answer ends too early"));
          end();
          try {
            resolve(read(incoming, Buffer.concat(parts).toString("utf8")));
          } catch (error) {
            reject(error);
          }
        });
      });
      outgoing.end(request.body);
    });
  }
}

function read(incoming: http.IncomingMessage, text: string): Answer {
  const status = incoming.statusCode ?? 0;
  let body: unknown;
  try {
    body = text === "" ? undefined : JSON.parse(text);
  } catch (error) {
    if (status < 400) throw errorOf("unreachable", "the answer is no JSON: is that a Handoff server?", { status, cause: error });
  }
  if (status < 400 && status >= 200) return { status, body };
  throw refusal(status, body, incoming.headers["retry-after"]);
}

// Also of somebody in between, who does not know our shape.
function refusal(status: number, body: unknown, retryAfter: string | undefined): HandoffError {
  const error = (body as { error?: { code?: string; message?: string; field?: string | null } } | undefined)?.error;
  const details = { status, field: error?.field ?? undefined, retryAfterMs: retryAfterOf(retryAfter) };
  if (typeof error?.code === "string") return errorOf(error.code as ErrorCode, error.message ?? error.code, details);
  return errorOf([408, 429, 502, 503, 504].includes(status) ? "unavailable" : codeOf(status), `HTTP ${status}`, details);
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404) return "not_found";
  if (status === 413) return "too_large";
  return status >= 500 ? "internal" : "bad_request";
}

function retryAfterOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
