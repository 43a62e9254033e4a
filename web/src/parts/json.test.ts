import { describe, expect, it } from "vitest";
import { checkJson } from "./json";

const place = (text: string) => {
  const checked = checkJson(text);
  return checked.ok ? "good" : `${checked.line}:${checked.column} ${checked.message}`;
};

describe("checkJson", () => {
  it("takes what JSON.parse takes", () => {
    for (const text of ["null", "{}", '{"a":[1,-2.5e3,true,"\\u00e4\\n"]}', " [ ] ", '"<b>"']) expect(place(text)).toBe("good");
  });
  it("takes nothing as null", () => expect(checkJson("  ")).toEqual({ ok: true, value: null }));
  it("says where something is wrong", () => {
    expect(place('{"a": 1,}')).toBe('1:9 unexpected "}"');
    expect(place('{\n  "to": yes\n}')).toBe('2:9 unexpected "y"');
    expect(place("[1 2]")).toBe('1:4 unexpected "2"');
    expect(place("{} x")).toBe('1:4 unexpected "x"');
    expect(place("{'a':1}")).toBe(`1:2 unexpected "'"`);
    expect(place("[tru]")).toBe('1:5 unexpected "]"');
  });
  it("says that the end is missing", () => {
    expect(place('{"a": ')).toBe("1:7 something is missing at the end");
    expect(place('"abc')).toBe("1:5 something is missing at the end");
  });
  it("agrees with JSON.parse about random text", () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    const pieces = ["{", "}", "[", "]", ",", ":", '"a"', "1", "-", "true", " ", "\\", '"', "null"];
    for (let run = 0; run < 3000; run++) {
      const text = Array.from({ length: 1 + random(8) }, () => pieces[random(pieces.length)]).join("");
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = text.trim() === "";
      }
      expect(checkJson(text).ok, text).toBe(isJson);
    }
  });
});
