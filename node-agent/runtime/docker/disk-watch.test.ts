import { test } from "vitest";
import { nextCheckMs, overDisk } from "./disk-watch.ts";

test("a worker is measured again when it could be full, but neither all the time nor too rarely", ({
  expect,
}) => {
  expect(nextCheckMs(20e9, 5_000)).toBe(20_000);
  expect(nextCheckMs(1e9, 5_000)).toBe(5_000);
  expect(nextCheckMs(-1e9, 5_000)).toBe(5_000);
  expect(nextCheckMs(1e12, 5_000)).toBe(60_000);
});

test("the message about a full disk names what was written and the limit", ({ expect }) => {
  expect(overDisk(12.04e9, 10e9)).toBe("was ended: it wrote 12 GB, containerDiskInGb is 10");
});
