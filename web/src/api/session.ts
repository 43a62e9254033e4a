// Who looks: the token, kept for this tab only, and what the server said about it.
import { Client, ApiError } from "./client";
import { Signal } from "../live/signal";
import type { Role, ServerLook } from "./types";

const key = "handoff.token";

export type Session =
  | { is: "asking" } // We do not know yet.
  | { is: "locked"; refused: boolean } // A token is needed; `refused`: the one that was given is no good.
  | { is: "unreachable"; message: string }
  | { is: "open"; server: ServerLook };

export const session = new Signal<Session>({ is: "asking" });
export const client = new Client(storedToken, () => {
  if (session.value.is !== "locked") session.set({ is: "locked", refused: storedToken() !== "" });
});

export function storedToken(): string {
  return sessionStorage.getItem(key) ?? "";
}

export async function open(): Promise<void> {
  try {
    const server = await client.call<ServerLook>("/v1/server");
    skew = Date.parse(server.now) - Date.now();
    session.set({ is: "open", server });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return; // The client has said so.
    session.set({ is: "unreachable", message: error instanceof Error ? error.message : String(error) });
  }
}

export function enter(token: string): Promise<void> {
  sessionStorage.setItem(key, token.trim());
  session.set({ is: "asking" });
  return open();
}

export function leave(): void {
  sessionStorage.removeItem(key);
  session.set({ is: "locked", refused: false });
}

const rank: Record<Role, number> = { produce: 0, work: 1, admin: 2 };

// Why this token may not do it; nothing if it may.
export function refusal(needed: Role): string | undefined {
  const now = session.value;
  const role = now.is === "open" ? now.server.role : "produce";
  return rank[role] >= rank[needed] ? undefined : `This needs an ${needed} token; yours has the role ${role}.`;
}

// Ages are told by the clock of the server, not by that of the reader.
let skew = 0;
export const serverNow = (): number => Date.now() + skew;
