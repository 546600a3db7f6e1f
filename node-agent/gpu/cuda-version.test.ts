import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { parseCudaVersion, readCudaVersion } from "./cuda-version.ts";

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
