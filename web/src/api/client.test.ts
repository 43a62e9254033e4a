import { afterEach, expect, it, vi } from "vitest";
import { ApiError, Client, errorOf, target } from "./client";
import { RawJson } from "./raw";

afterEach(() => void vi.unstubAllGlobals());
const answering = (status: number, body: string) => {
  const fetched = vi.fn(() => Promise.resolve(new Response(body, { status })));
  vi.stubGlobal("fetch", fetched);
  return fetched;
};

it("an error has the code, the message and the field that the server named", () => {
  const error = errorOf(400, { error: { code: "bad_request", message: "capacity must be ...", field: "capacity" } });
  expect([error.status, error.code, error.message, error.field]).toEqual([400, "bad_request", "capacity must be ...", "capacity"]);
});

it("an answer that is no JSON is an error all the same", () => {
  expect(errorOf(502, null).message).toBe("the server answered with status 502");
});

it("a parameter that is empty is not sent", () => {
  expect(target("/v1/tasks", { queue: "a&b", kind: "", cursor: undefined, limit: 50 })).toBe("/v1/tasks?queue=a%26b&limit=50");
});

it("the token is sent with every call, and who is not let in is told", async () => {
  const fetched = answering(401, '{"error":{"code":"unauthorized","message":"a token is needed","field":null}}');
  const locked = vi.fn();
  await expect(new Client(() => "secret", locked).call("/v1/server")).rejects.toMatchObject({ status: 401 });
  expect(locked).toHaveBeenCalledOnce();
  expect(fetched.mock.calls[0]).toMatchObject(["/v1/server", { headers: { Authorization: "Bearer secret" } }]);
});

it("a server that is away is an error that says so", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  const failed = new Client(() => "", () => undefined).call("/v1/server");
  await expect(failed).rejects.toBeInstanceOf(ApiError);
  await expect(failed).rejects.toMatchObject({ status: 0, code: "unreachable" });
});

it("an answer that is cut is none", async () => {
  const cut = () => new ReadableStream({ start: (writer) => writer.error(new TypeError("network error")) });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(cut(), { status: 200 })));
  await expect(new Client(() => "", () => undefined).call("/v1/server")).rejects.toMatchObject({ status: 0, code: "unreachable" });
});

it("an answer without a body is nothing", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(null, { status: 204 })));
  expect(await new Client(() => "", () => undefined).call("/v1/schedules/x", { method: "DELETE" })).toBe(null);
});

it("large numbers of a payload are sent and read as they are", async () => {
  const fetched = answering(200, '{"id":"a","attempt":1,"payload":{"n":12345678901234567890},"result":1.0}');
  const client = new Client(() => "", () => undefined);
  const task = await client.call("/v1/tasks", { method: "POST", body: { kind: "k", payload: new RawJson('{"n": 98765432109876543210}') } });
  expect(fetched.mock.calls[0]).toMatchObject(["/v1/tasks", { body: '{"kind":"k","payload":{"n":98765432109876543210}}' }]);
  expect(task).toEqual({ id: "a", attempt: 1, payload: new RawJson('{"n":12345678901234567890}'), result: new RawJson("1.0") });
});

it("the payload of a task that only reports its progress is the same, so that it is not shown anew", async () => {
  const client = new Client(() => "", () => undefined);
  const ask = async (progress: number) => {
    answering(200, `{"id":"a","progress":${progress},"payload":{"n":[1,2,3]}}`);
    return client.call<{ progress: number; payload: RawJson }>("/v1/tasks/a");
  };
  const [first, later] = [await ask(0.1), await ask(0.25)];
  expect(later.progress).toBe(0.25);
  expect(later.payload).toBe(first.payload);
});
