import { describe, test } from "vitest";
import { copyPlaces, leadsOut, partName, resumeOffset } from "./place.ts";

describe("source and destination", () => {
  test.for([
    ["a", "pod1:/b", { direction: "up", containerId: "pod1", local: "a", remote: "/b" }],
    ["pod1:/b", ".", { direction: "down", containerId: "pod1", local: ".", remote: "/b" }],
    ["./x:y", "pod1:", { direction: "up", containerId: "pod1", local: "./x:y", remote: "." }],
    ["pod1:-rf", "a", { direction: "down", containerId: "pod1", local: "a", remote: "./-rf" }],
  ] as const)("%s to %s", ([source, destination, places], { expect }) => {
    expect(copyPlaces(source, destination)).toEqual(places);
  });

  test.for([
    ["a", "b"],
    ["pod1:/a", "pod2:/b"],
  ] as const)("%s to %s is refused", ([source, destination], { expect }) => {
    expect(() => copyPlaces(source, destination)).toThrow(/one of source and destination/);
  });
});

describe("a copy that was interrupted", () => {
  const state = { size: 200_000, mtime: 5, mode: 0o644 };

  test("goes on at a whole block of its part", ({ expect }) => {
    expect(resumeOffset(130_000, 200_000)).toBe(65_536);
    expect(resumeOffset(200_000, 200_000)).toBe(196_608);
  });

  test("begins again without a part, and with one that is too large", ({ expect }) => {
    expect([resumeOffset(undefined, 200_000), resumeOffset(200_001, 200_000)]).toEqual([0, 0]);
  });

  test("finds its part by the source, its size and its time", ({ expect }) => {
    const name = partName("source", state);
    expect(partName("source", { ...state })).toBe(name);
    expect(partName("source", { ...state, mtime: 6 })).not.toBe(name);
    expect(partName("source", { ...state, size: 1 })).not.toBe(name);
    expect(partName("other", state)).not.toBe(name);
  });
});

test.for([
  ["a", "b", false],
  ["a/b/c", "../../d", false],
  ["a/b", "../../d", true],
  ["a", "/etc/passwd", true],
  ["a", "..", true],
  ["a/b", "x/../../..", true],
  ["a/b", "./.././c", false],
  ["evil", "l/l/l/../../../etc", true],
  ["a/b/c", "../x/../y", true],
  ["./a/b", "../c", false],
  ["./a", "../c", true],
] as const)("a link %s to %s leads out: %s", ([path, target, isOut], { expect }) => {
  expect(leadsOut(path, target)).toBe(isOut);
});
