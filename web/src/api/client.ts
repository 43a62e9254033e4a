// Calls the server: adds the token, reads JSON, and makes every failure an ApiError.
import { MemberReader, toJson } from "./raw";

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer came at all.
    readonly code: string,
    message: string,
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

export type Query = Record<string, string | number | undefined>;

export interface Call {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  query?: Query;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

// What is empty is not asked for.
export function target(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parts.set(name, String(value));
  }
  const text = parts.toString();
  return text ? `${path}?${text}` : path;
}

export function errorOf(status: number, body: unknown): ApiError {
  const error = (body as { error?: { code?: unknown; message?: unknown; field?: unknown } } | null)?.error;
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    return new ApiError(status, "internal", `the server answered with status ${status}`);
  }
  return new ApiError(status, error.code, error.message, typeof error.field === "string" ? error.field : null);
}

export class Client {
  private readonly raw = new MemberReader(["payload", "result"]);

  constructor(
    private readonly token: () => string,
    private readonly unauthorized: () => void,
  ) {}

  headers(): Record<string, string> {
    const token = this.token();
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  async call<T>(path: string, { method = "GET", query, body, signal }: Call = {}): Promise<T> {
    const headers = this.headers();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await this.fetch(target(path, query), {
      method,
      headers,
      cache: "no-store",
      body: body === undefined ? null : toJson(body),
      signal: signal ?? null,
    });
    const text = await answer.text().catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ApiError(0, "unreachable", "the connection was cut within the answer");
    });
    const read = this.parsed(text);
    if (!answer.ok) throw errorOf(answer.status, read);
    return read as T;
  }

  // Throws an ApiError if there is no answer, or none that lets us in.
  async fetch(url: string, init: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(url, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ApiError(0, "unreachable", "the server cannot be reached");
    }
    if (answer.status === 401) this.unauthorized();
    return answer;
  }

  // What a task was given and what came of it stays text.
  private parsed(text: string): unknown {
    if (text === "") return null;
    try {
      const answer: unknown = JSON.parse(text);
      const isTask = typeof answer === "object" && answer !== null && ("payload" in answer || "result" in answer);
      return isTask ? Object.assign(answer, Object.fromEntries(this.raw.read(text))) : answer;
    } catch {
      return null;
    }
  }
}
