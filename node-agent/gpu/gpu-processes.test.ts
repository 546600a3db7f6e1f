import { expect, test } from "vitest";
import { parseGpuProcesses, readGpuProcesses } from "./gpu-processes.ts";

test("reads processes as drivers print them, with units and carriage returns or without", () => {
  const text = "4012, 1740, GPU-8a56\r\n4013, 512 MiB, GPU-8a56\n";
  expect(parseGpuProcesses(text)).toEqual([
    { pid: 4012, memoryMb: 1_740, gpuUuid: "GPU-8a56" },
    { pid: 4013, memoryMb: 512, gpuUuid: "GPU-8a56" },
  ]);
});

test.for([
  "4012, [N/A], GPU-8a56",
  "4012, [Not Supported], GPU-8a56",
  "No running processes found",
  "Failed to initialize NVML: Driver/library version mismatch",
  "",
])("'%s' says nothing of any process", (text) => {
  expect(parseGpuProcesses(text)).toEqual([]);
});

test("a machine without nvidia-smi cannot be read", async () => {
  await expect(readGpuProcesses("/nowhere/nvidia-smi")).rejects.toThrow("ENOENT");
});
