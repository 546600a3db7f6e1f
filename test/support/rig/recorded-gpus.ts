/** What nvidia-smi printed on machines with these GPUs, and a command that prints it again. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const RECORDED = {
  "2x RTX 4090": ["0, NVIDIA GeForce RTX 4090, 24564, [N/A]", "1, NVIDIA GeForce RTX 4090, 24564, [N/A]"],
  "1x A100 80GB": ["0, NVIDIA A100 80GB PCIe, 81920, Disabled"],
  "4x L4": [
    "0, NVIDIA L4, 23034, [N/A]",
    "1, NVIDIA L4, 23034, [N/A]",
    "2, NVIDIA L4, 23034, [N/A]",
    "3, NVIDIA L4, 23034, [N/A]",
  ],
} as const;

export type RecordedGpus = keyof typeof RECORDED;

/** Puts an `nvidia-smi` into a new directory, which is to come first in the PATH of an agent. */
export async function layOutNvidiaSmi(directory: string, gpus: RecordedGpus): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lines = RECORDED[gpus].map((line) => `echo "${line}"`);
  const script = ["#!/bin/sh", ...lines].join("\n");
  await writeFile(join(directory, "nvidia-smi"), `${script}\n`, { mode: 0o755 });
}
