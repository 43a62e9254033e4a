import { describe, expect, it } from "vitest";
import { indented, MemberReader, RawJson, toJson } from "./raw";

const memberOf = (json: string, name: string) => new MemberReader([name]).read(json).get(name);

// Numbers that JSON.parse alters, and a text that looks like one.
const theirs = '{"id": 12345678901234567890, "rate": 1.0, "small": 1E-7,\n "list": [ -0, [], {} ], "text": "a \\" : , { 12345678901234567890"}';

describe("raw JSON", () => {
  it("is written as it was, without the space between its parts", () => {
    expect(toJson({ queue: "q", none: undefined, payload: new RawJson(theirs) })).toBe(
      '{"queue":"q","payload":{"id":12345678901234567890,"rate":1.0,"small":1E-7,"list":[-0,[],{}],"text":"a \\" : , { 12345678901234567890"}}',
    );
  });
  it("is indented as JSON.stringify does it, with its numbers as they are", () => {
    const plain = { a: [1, { b: null, c: [] }, [true, "x, \"{y}\" : \\"]], d: {}, "": -1.5 };
    expect(indented(new RawJson(JSON.stringify(plain)))).toBe(JSON.stringify(plain, null, 2));
    for (const each of ["7", '"a b"', "null", "[]", "{}", " [ ] "]) expect(indented(new RawJson(each))).toBe(JSON.stringify(JSON.parse(each), null, 2));
    expect(indented(new RawJson('{"id":12345678901234567890,"rate":1.0}'))).toBe('{\n  "id": 12345678901234567890,\n  "rate": 1.0\n}');
  });
  it("is taken out of an object, whatever stands in the others", () => {
    const answer = `{"kind":"payload","progress":{"payload":1,"l":[2]},"payload":${theirs},"result":12345678901234567890}`;
    expect(memberOf(answer, "payload")).toEqual(new RawJson(theirs));
    expect(memberOf(answer, "result")?.text).toBe("12345678901234567890");
    expect(memberOf(answer, "l")).toBe(undefined);
    expect(memberOf('{"a":1,"a":[2]}', "a")?.text).toBe("[2]");
    expect(memberOf("{}", "")).toBe(undefined);
    expect(memberOf('{"":[]}', "")?.text).toBe("[]");
  });
  it("that is as it was is the same, wherever it stands now, and is not read again", () => {
    const reader = new MemberReader(["payload", "result"]);
    const first = reader.read(`{"done":0.1,"payload":${theirs} ,"after":[]}`).get("payload");
    const later = reader.read(`{"done":0.25,"note":"\\"payload\\":${"x".repeat(9)}","payload":${theirs} ,"after":[],"result":1}`);
    expect(later.get("payload")).toBe(first);
    expect(later.get("result")?.text).toBe("1");
  });
  it("that only begins as it did is another", () => {
    const reader = new MemberReader(["payload"]);
    const read = (json: string) => reader.read(json).get("payload")?.text;
    expect([read('{"payload":1}'), read('{"payload":12,"a":{"payload":1}}'), read('{"payload":1.5}')]).toEqual(["1", "12", "1.5"]);
    expect([read('{"a":{"payload":[2]},"payload":[1]}'), read('{"a":{"payload":[1]},"payload":[2]}')]).toEqual(["[1]", "[2]"]);
    expect([read('{"payload":[1],"payload":[3]}'), read('{"payload":[1],"payload":[4]}'), read("{}"), read('{"payload":[4]}')]).toEqual(["[3]", "[4]", undefined, "[4]"]);
  });
  it("may hold strings of megabytes", () => {
    for (const long of ["x".repeat(8e6), '\\"'.repeat(4e6), "\\\\".repeat(4e6)]) {
      expect(memberOf(`{"payload": "${long}"}`, "payload")?.text.length).toBe(long.length + 2);
    }
  });
});

it("what is not raw is written as JSON.stringify does it", () => {
  for (const each of [null, 1.5, "a\"b", [1, undefined, [null]], { a: undefined, "b c": { d: [true] } }, {}, []]) expect(toJson(each)).toBe(JSON.stringify(each));
});
