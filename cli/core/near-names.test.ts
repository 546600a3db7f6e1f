import { expect, test } from "vitest";
import { namesNear } from "./near-names.ts";

const NAMES = ["cpu_worker", "gpu_worker", "api", "thumbnails"];

test.each([
  ["cpu_wroker", ["cpu_worker", "gpu_worker"]],
  ["CPU_WORKER", ["cpu_worker", "gpu_worker"]],
  ["thumb", ["thumbnails"]],
  ["apo", ["api"]],
  ["nothing_like_it", []],
] as const)("%s may mean %j", (written, expected) => {
  expect(namesNear(written, NAMES)).toEqual(expected);
});
