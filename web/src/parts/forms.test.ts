import { describe, expect, it } from "vitest";
import { RawJson, toJson } from "../api/raw";
import type { Settings } from "../api/types";
import { bulkBody } from "./bulk";
import { curlLine } from "./curl";
import { type EnqueueForm, enqueueBody, enqueueErrors } from "./enqueue_form";
import { changes, formErrors, formOf } from "./settings";

const settings: Settings = {
  capacity: 1000, capacity_bytes: 1e6, when_full: "reject", block_for: "100ms", rate: "0/s", burst: 1, concurrency: 0,
  group_concurrency: 0, lease_for: "30s", max_attempts: 20, backoff: { kind: "sidekiq" }, ageing: "10m", burst_for: "10s",
  keep_done: "1d", keep_dead: "30d", keep_count: 1000,
};

describe("settings of a queue", () => {
  const form = formOf(settings);
  it("as the server has them are good, and no change", () => {
    expect(formErrors(form)).toEqual({});
    expect(changes(form, form)).toEqual({});
  });
  it("are sent only if they were changed, each as what it is", () => {
    expect(changes(form, { ...form, capacity: "50", rate: "5/s", keep_done: "2h", when_full: "block" })).toEqual({
      capacity: 50, rate: "5/s", keep_done: "2h", when_full: "block",
    });
  });
  it("have a backoff, which is sent whole and with what its kind knows", () => {
    expect(changes(form, { ...form, "backoff.kind": "exponential", "backoff.base": "2s", "backoff.delay": "9s" })).toEqual({
      backoff: { kind: "exponential", base: "2s" },
    });
    const fixed = formOf({ ...settings, backoff: { kind: "fixed", delay: "5s", jitter: 0.25 } });
    expect(changes(fixed, { ...fixed, "backoff.jitter": "0.5" })).toEqual({ backoff: { kind: "fixed", delay: "5s", jitter: 0.5 } });
    expect(Object.keys(formErrors({ ...fixed, "backoff.jitter": "2", "backoff.base": "no" }))).toEqual(["backoff.jitter"]);
  });
  it("that are wrong say so, at their field", () => {
    const errors = formErrors({ ...form, capacity: "0", rate: "fast", lease_for: "soon", max_attempts: "1.5" });
    expect(Object.keys(errors).sort()).toEqual(["capacity", "lease_for", "max_attempts", "rate"]);
    expect(errors["capacity"]).toBe("must be from 1 to 1000000000000");
  });
});

const blank: EnqueueForm = { queue: "email", kind: "welcome", payload: "", delay: "", priority: "", max_attempts: "", timeout: "", unique_key: "", group: "" };

describe("a task to enqueue", () => {
  it("leaves out what is left empty", () => expect(enqueueBody(blank)).toEqual({ queue: "email", kind: "welcome" }));
  it("has what was typed, each as what it is", () => {
    expect(enqueueBody({ ...blank, payload: '{"a":1}', delay: "5", timeout: "5m", priority: "-3", group: " g " })).toEqual({
      queue: "email", kind: "welcome", payload: new RawJson('{"a":1}'), delay: 5, timeout: "5m", priority: -3, group: "g",
    });
  });
  it("has the payload letter for letter, sent and as curl", () => {
    const body = enqueueBody({ ...blank, payload: '{\n  "id": 12345678901234567890,\n  "price": 1.10\n}' });
    expect(toJson(body)).toBe('{"queue":"email","kind":"welcome","payload":{"id":12345678901234567890,"price":1.10}}');
    expect(curlLine({ origin: "", path: "/v1/tasks", body, hasToken: false })).toContain('"id":12345678901234567890,"price":1.10}');
  });
  it("is good without the rest", () => expect(enqueueErrors(blank)).toEqual({}));
  it("says what is wrong with each field", () => {
    const errors = enqueueErrors({ ...blank, queue: "a b", kind: "", payload: "{", delay: "x", priority: "101", max_attempts: "0" });
    expect(Object.keys(errors).sort()).toEqual(["delay", "kind", "max_attempts", "payload", "priority", "queue"]);
  });
});

it("a bulk action names only what was chosen", () => {
  expect(bulkBody("retry", { queue: "q", kind: "", state: "dead", error: "x" }, true)).toEqual({
    action: "retry", filter: { queue: "q", state: "dead", error: "x" }, dry_run: true,
  });
});

describe("curl", () => {
  const parts = { origin: "http://localhost:8077", path: "/v1/tasks", body: { payload: "it's" }, hasToken: false };
  it("survives a shell", () => expect(curlLine(parts)).toContain(`-d '{"payload":"it'\\''s"}'`));
  it("never has the token in it", () => expect(curlLine({ ...parts, hasToken: true })).toContain("$HANDOFF_TOKEN"));
});
