import { expect, test } from "vitest";
import { CountedWindows, clientNetwork } from "./counted-windows.ts";

test("each window begins with nothing, for each name by itself", () => {
  const windows = new CountedWindows(10_000, 100);
  expect([windows.count("a", 10_001), windows.count("a", 19_999), windows.count("b", 19_999)]).toEqual([
    1, 2, 1,
  ]);
  windows.exhaust("a", 19_999);
  expect([windows.isExhausted("a", 19_999), windows.isExhausted("b", 19_999)]).toEqual([true, false]);
  expect(windows.endsInMs(19_999)).toBe(1);
  expect(windows.isExhausted("a", 20_000)).toBe(false);
  expect(windows.count("a", 20_000)).toBe(1);
});

test("many names take no more memory than they may", () => {
  const windows = new CountedWindows(10_000, 2);
  for (const name of ["a", "b", "c"]) windows.count(name, 1);
  expect([windows.count("c", 1), windows.count("a", 1)]).toEqual([2, 1]);
});

test.for([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:db8::1", "2001:db8:0"],
  ["2001:0DB8:0:7:1:2:3:4", "2001:db8:0"],
  ["2001:db8:7::", "2001:db8:7"],
  ["::1", "0:0:0"],
] as const)("%s is of the network %s", ([address, network]) => {
  expect(clientNetwork(address)).toBe(network);
});
