import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { parseGpuQuery, readGpus } from "./nvidia-smi.ts";

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

  test("asks for what it parses, and tells what a failing nvidia-smi printed", async ({ expect }) => {
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
