import { describe, expect, it, vi } from "vitest";
import { age, ago, beginning, bytes, clockTime, count, duration, durationText, parseDuration, percent, plural, rate, short, shortId } from "./format";

describe("numbers", () => {
  it("are grouped, or shortened where there is little room", () => {
    expect(count(1234567)).toBe("1,234,567");
    expect([0, 9999, 12_345, 999_999, 12_300_000, 2e9, 4e12].map(short)).toEqual(["0", "9,999", "12.3k", "1M", "12.3M", "2G", "4T"]);
  });
  it("of a rate stay readable when it is slow or fast", () => {
    expect([0, 0.02, 0.5, 12.345, 250, 51_234].map(rate)).toEqual(["0/s", "1.2/min", "0.5/s", "12/s", "250/s", "51.2k/s"]);
  });
  it("of bytes have binary units", () => {
    expect([12, 2048, 268_435_456].map(bytes)).toEqual(["12 B", "2 KiB", "256 MiB"]);
  });
  it("take a plural", () => {
    expect([plural(1, "task"), plural(1200, "task")]).toEqual(["1 task", "1,200 tasks"]);
  });
  it("of progress stay between nothing and all", () => {
    expect([-1, 0.456, 7].map(percent)).toEqual(["0%", "46%", "100%"]);
  });
});

describe("durations", () => {
  it("are read as the server writes them", () => {
    expect(["250ms", "30s", "1.5m", "2h", "1d", "12"].map(parseDuration)).toEqual([250, 30_000, 90_000, 7_200_000, 86_400_000, 12_000]);
  });
  it("that are none are refused", () => {
    expect(["", "x", "5 minutes", "-3s", "3w"].map(parseDuration)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });
  it("show their two largest parts", () => {
    expect([0, 310, 4200, 59_900, 3_600_000, 11_520_000, 90_061_000].map(duration)).toEqual(["0ms", "310ms", "4.2s", "1m", "1h", "3h 12m", "1d 1h"]);
  });
  it("that are not known are a dash", () => {
    expect(durationText(undefined)).toBe("–");
    expect(durationText("12345ms")).toBe("12s");
  });
  it("since then are one part", () => {
    expect([500, 61_000, 180_000, 7_300_000, 2e8].map(age)).toEqual(["0s", "61s", "3m", "2h", "2d"]);
    expect(ago(500)).toBe("just now");
    expect(ago(5000)).toBe("5s ago");
  });
});

it("an id is shortened so that both ends can be compared", () => {
  expect(shortId("01a1e8d0-9b61-7000-9072-e55e3f0443e8")).toBe("01a1e8d0…43e8");
});

it("a text of many pages is shown by its beginning", () => {
  expect([beginning("short"), beginning("abcdef", 3)]).toEqual(["short", "abc…"]);
});

it("a time of day is that of the reader", () => {
  vi.stubEnv("TZ", "Asia/Kathmandu");
  expect(clockTime("2026-11-18T20:03:07.05Z")).toBe("01:48:07.050");
  vi.unstubAllEnvs();
});
