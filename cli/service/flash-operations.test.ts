import { expect, test } from "vitest";
import { gpuName } from "./flash-operations.ts";

test("a simulated GPU has another name than a real one", () => {
  const gpuDisplayName = "RTX A4000";
  expect(gpuName({ gpuDisplayName, isGpuSimulated: false })).toBe(gpuDisplayName);
  expect(gpuName({ gpuDisplayName, isGpuSimulated: true })).toBe("simulated RTX A4000");
  expect(gpuName({ gpuDisplayName: null, isGpuSimulated: false })).toBeUndefined();
});
