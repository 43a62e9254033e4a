// Compiled, not run: what the types promise to those who use them.
import { Handoff, Worker, type Task } from "handoff-client";

interface Mail {
  to: string;
}

export async function typed(handoff: Handoff): Promise<void> {
  await handoff.enqueue<Mail>({ queue: "email", kind: "welcome", payload: { to: "a@b.c" } });
  // @ts-expect-error: a payload of another type
  await handoff.enqueue<Mail>({ queue: "email", kind: "welcome", payload: { too: "a@b.c" } });
  // @ts-expect-error: a typo
  await handoff.enqueue({ queue: "email", kind: "welcome", max_attemps: 3 });
  // @ts-expect-error: no queue
  await handoff.enqueue({ kind: "welcome" });
  const result: { sent: boolean } = await handoff.result<{ sent: boolean }>("id");
  const task: Task<Mail> = await handoff.get<Mail>("id");
  const worker = new Worker(handoff, { queues: ["email"] });
  worker.handle<Mail>("welcome", async ({ to }, context) => {
    context.progress(0.5, to);
    return { sent: true };
  });
  void result;
  void task;
}
