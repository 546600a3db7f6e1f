import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { gpuTelemetrySchema } from "../../src/contract/agent/telemetry.ts";
import { parseGpuTelemetry, readGpuTelemetry } from "./gpu-telemetry.ts";

describe("parseGpuTelemetry", () => {
  test("reads GPUs that tell everything", ({ expect }) => {
    const gpus = parseGpuTelemetry("0, 97, 77913, 81559, 64, 688.32\n1, 0, 4, 81559, 27, 71.05\n");
    expect(gpus).toEqual([
      {
        index: 0,
        utilizationPercent: 97,
        memoryUsedMb: 77_913,
        memoryTotalMb: 81_559,
        temperatureC: 64,
        powerW: 688.32,
      },
      {
        index: 1,
        utilizationPercent: 0,
        memoryUsedMb: 4,
        memoryTotalMb: 81_559,
        temperatureC: 27,
        powerW: 71.05,
      },
    ]);
    for (const gpu of gpus) expect(gpuTelemetrySchema.parse(gpu)).toEqual(gpu);
  });

  test("a GPU that is divided (MIG) does not tell how busy it is, but everything else", ({ expect }) => {
    expect(parseGpuTelemetry("0, [N/A], 36537, 81920, 33, 87.24\n")).toEqual([
      {
        index: 0,
        utilizationPercent: null,
        memoryUsedMb: 36_537,
        memoryTotalMb: 81_920,
        temperatureC: 33,
        powerW: 87.24,
      },
    ]);
  });

  test("a GPU that shares the memory of its host tells of none", ({ expect }) => {
    expect(parseGpuTelemetry("0, 96, [N/A], [N/A], 61, 38.12\n")).toMatchObject([
      { utilizationPercent: 96, memoryUsedMb: null, memoryTotalMb: null, temperatureC: 61 },
    ]);
  });

  test.for(["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[Insufficient Permissions]"])(
    "%s stands for what is not known",
    (word, { expect }) => {
      expect(parseGpuTelemetry(`0, 5, 100, 200, 40, ${word}`)).toMatchObject([
        { temperatureC: 40, powerW: null },
      ]);
    },
  );

  test("units are left out or not, and lines end in either way", ({ expect }) => {
    expect(parseGpuTelemetry("0, 98 %, 22000 MiB, 24576 MiB, 65, 81.25 W\r\n")).toMatchObject([
      { utilizationPercent: 98, memoryUsedMb: 22_000, memoryTotalMb: 24_576, powerW: 81.25 },
    ]);
  });

  test("GPUs that are lost, and sentences of a driver in trouble, are left out", ({ expect }) => {
    const lost = "[GPU is lost]";
    const text = `0, ${Array.from({ length: 5 }, () => lost).join(", ")}\n1, 3, 10, 20, 30, 40\n`;
    expect(parseGpuTelemetry(text).map(({ index }) => index)).toEqual([1]);
    expect(parseGpuTelemetry("Failed to initialize NVML: Driver/library version mismatch\n")).toEqual([]);
    expect(parseGpuTelemetry("No devices were found\n")).toEqual([]);
  });
});

describe("readGpuTelemetry", () => {
  test("asks for what it parses; without nvidia-smi, or when it fails, there is nothing", async ({
    expect,
  }) => {
    const directory = await mkdtemp(join(tmpdir(), "edgerun-gpu-"));
    const command = join(directory, "nvidia-smi");
    const script = (body: string) => writeFile(command, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    try {
      expect(await readGpuTelemetry(command)).toEqual([]);
      await script(
        `[ "$*" = "--query-gpu=index,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw --format=csv,noheader,nounits" ] && echo "0, 1, 2, 3, 4, 5.5"`,
      );
      expect(await readGpuTelemetry(command)).toMatchObject([{ index: 0, powerW: 5.5 }]);
      await script(`echo "NVIDIA-SMI has failed"; exit 9`);
      expect(await readGpuTelemetry(command)).toEqual([]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
