import { test } from "vitest";
import { DATA_CENTERS, dataCentersOf } from "./data-centers.ts";

test("a country stands for the data centers that typed clients know", ({ expect }) => {
  const ids = dataCentersOf("US").map(({ id }) => id);
  expect(ids).toContain("US-KS-2");
  expect(ids).not.toContain("US-MO-1");
  expect(DATA_CENTERS.map(({ id }) => id)).toContain("US-MO-1");
  expect(dataCentersOf("XX")).toEqual([]);
});
