import { test } from "vitest";
import { sourceCallPython } from "./flash-live.ts";

test.for([
  ["runpod/flash:py3.12-latest", "3.12"],
  ["runpod/flash-cpu:py3.10-latest", "3.10"],
  ["runpod/flash-lb:py3.11-dev", "3.11"],
  ["registry.example:5000/mine/flash-lb-cpu:py3.13-2", "3.13"],
  ["runpod/queue-gpu:py3.12-latest", "3.12"],
  ["acme/queue:py3.12-latest", undefined],
  ["runpod/api:py3.12-latest", undefined],
  ["runpod/flash:latest", undefined],
  ["acme/myflash:py3.12-latest", undefined],
  ["acme/flash-worker:py3.12-latest", undefined],
] as const)("%s runs calls with source on Python %s", ([image, version], { expect }) => {
  expect(sourceCallPython(image)).toBe(version);
});
