import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import {
  parseGpuQuery,
  readGpus,
  parseCudaVersion,
  readCudaVersion,
  parseGpuTelemetry,
  readGpuTelemetry,
} from "./nvidia-smi.ts";
import { gpuTelemetrySchema } from "../../src/contract/agent/telemetry.ts";

const real = { isSimulated: false };

describe("parseGpuQuery", () => {
  test("reads data centre GPUs", ({ expect }) => {
    const text = [
      "0, NVIDIA A100-SXM4-80GB, 81920, Disabled",
      "1, NVIDIA A100 80GB PCIe, 81920, Disabled",
      "2, NVIDIA H100 80GB HBM3, 81559, Disabled",
      "3, NVIDIA H200, 143771, Disabled",
      "4, NVIDIA L4, 23034, [N/A]",
      "",
    ].join("\n");
    expect(parseGpuQuery(text)).toEqual({
      kind: "found",
      gpus: [
        { index: 0, name: "NVIDIA A100-SXM4-80GB", tier: "AMPERE_80", memoryMb: 81_920, ...real },
        { index: 1, name: "NVIDIA A100 80GB PCIe", tier: "AMPERE_80", memoryMb: 81_920, ...real },
        { index: 2, name: "NVIDIA H100 80GB HBM3", tier: "ADA_80_PRO", memoryMb: 81_559, ...real },
        { index: 3, name: "NVIDIA H200", tier: "HOPPER_141", memoryMb: 143_771, ...real },
        { index: 4, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 23_034, ...real },
      ],
    });
  });

  test("reads a desktop GPU, with carriage returns and a unit as other versions print them", ({ expect }) => {
    expect(parseGpuQuery("0, NVIDIA GeForce RTX 4090, 24564 MiB, [N/A]\r\n")).toEqual({
      kind: "found",
      gpus: [{ index: 0, name: "NVIDIA GeForce RTX 4090", tier: "ADA_24", memoryMb: 24_564, ...real }],
    });
  });

  test("a model that we do not know belongs to no tier", ({ expect }) => {
    expect(parseGpuQuery("0, Tesla T4, 15360, [N/A]")).toMatchObject({
      gpus: [{ name: "Tesla T4", tier: null, memoryMb: 15_360 }],
    });
  });

  test("a GPU in MIG mode belongs to no tier, because it can not be given away as a whole", ({ expect }) => {
    const text = "0, NVIDIA A100-SXM4-80GB, 81920, Enabled\n1, NVIDIA A100-SXM4-80GB, 81920, Disabled\n";
    expect(parseGpuQuery(text)).toMatchObject({
      gpus: [
        { index: 0, tier: null },
        { index: 1, tier: "AMPERE_80" },
      ],
    });
  });

  test("memory that the driver does not tell is taken from the tier", ({ expect }) => {
    expect(parseGpuQuery("0, NVIDIA H200, [N/A], Disabled\n1, NVIDIA GB10, [N/A], [N/A]")).toMatchObject({
      gpus: [
        { index: 0, memoryMb: 141 * 1024 },
        { index: 1, memoryMb: 0, tier: null },
      ],
    });
  });

  test("leaves out a GPU that the driver has lost and keeps the others", ({ expect }) => {
    const text = "0, [GPU is lost], [GPU is lost], [GPU is lost]\n1, NVIDIA L4, 23034, [N/A]\n";
    expect(parseGpuQuery(text)).toMatchObject({ kind: "found", gpus: [{ index: 1 }] });
  });

  test("a machine with a driver and no GPU has none", ({ expect }) => {
    expect(parseGpuQuery("No devices were found\n")).toEqual({ kind: "found", gpus: [] });
  });

  test.for([
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54",
  ])("a driver failure is told in its own words: %s", (text, { expect }) => {
    const reading = parseGpuQuery(text);
    expect(reading).toMatchObject({ kind: "failed", detail: expect.stringContaining(text.slice(0, 40)) });
    expect(reading).toMatchSnapshot();
  });
});

describe("readGpus", () => {
  test("a machine without nvidia-smi has no GPU", async ({ expect }) => {
    expect(await readGpus("/nowhere/nvidia-smi")).toEqual({ kind: "absent" });
  });

  test("asks for what it parses, and reports what a failing nvidia-smi printed", async ({ expect }) => {
    const directory = await mkdtemp(join(tmpdir(), "edgerun-gpu-"));
    const command = join(directory, "nvidia-smi");
    const script = (body: string) => writeFile(command, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    try {
      await script(
        `[ "$*" = "--query-gpu=index,name,memory.total,mig.mode.current --format=csv,noheader,nounits" ] && echo "0, NVIDIA L4, 23034, [N/A]"`,
      );
      expect(await readGpus(command)).toMatchObject({ kind: "found", gpus: [{ tier: "AMPERE_24" }] });
      await script(`echo "Failed to initialize NVML: Unknown Error"; exit 255`);
      expect(await readGpus(command)).toMatchObject({
        kind: "failed",
        detail: expect.stringContaining("Failed to initialize NVML: Unknown Error"),
      });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

/** Heads of the table as drivers of several years print them. */
const HEADS = {
  "12.2": "| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |",
  "13.0": "| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |",
  "13.3": "| NVIDIA-SMI 610.57.04              KMD Version: 610.57.04     CUDA UMD Version: 13.3     |",
};

test.for(Object.entries(HEADS))(
  "CUDA %s is read from the table of nvidia-smi",
  ([version, head], { expect }) => {
    const line =
      "+-----------------------------------------------------------------------------------------+";
    const table = ["Wed Sep 30 21:53:38 2026       ", line, head, line].join("\n");
    expect(parseCudaVersion(table)).toBe(version);
  },
);

test("a driver that does not say leaves it open", async ({ expect }) => {
  expect(
    parseCudaVersion("| NVIDIA-SMI 535.1   Driver Version: 535.1   CUDA Version: N/A |"),
  ).toBeUndefined();
  expect(
    parseCudaVersion("NVIDIA-SMI has failed because it couldn't communicate with the driver"),
  ).toBeUndefined();
  expect(await readCudaVersion("/nowhere/nvidia-smi")).toBeUndefined();
});

test("nvidia-smi is asked without any options", async ({ expect }) => {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-cuda-"));
  const command = join(directory, "nvidia-smi");
  await writeFile(command, `#!/bin/sh\n[ $# = 0 ] && echo "${HEADS["13.0"]}"\n`, { mode: 0o755 });
  expect(await readCudaVersion(command)).toBe("13.0");
  await rm(directory, { recursive: true });
});

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

  test("a GPU that shares the memory of its host reports none", ({ expect }) => {
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
