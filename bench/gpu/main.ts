/**
 * What only a machine with an NVIDIA GPU can show: `node bench/gpu/main.ts [image]`, as root, with Docker and the NVIDIA
 * Container Toolkit. Each line says what was seen; the exit code is 1 where something is not as the agent expects.
 *
 * The image needs Python with PyTorch. Nothing else may use the first GPU meanwhile.
 */
import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { readGpuProcesses } from "../../node-agent/gpu/gpu-processes.ts";
import { readGpus, readGpuTelemetry } from "../../node-agent/gpu/nvidia-smi.ts";
import { GpuHost, type GpuWorker } from "./gpu-host.ts";

const run = promisify(execFile);

const IMAGE = process.argv[2] ?? "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime";
const DECLARED_MB = 4_000;
const SETTLED_MS = 3_000;
/** What CUDA keeps for a process that has given its memory back. */
const CONTEXT_MB = 1_000;

function report(name: string, isRight: boolean, seen: unknown): void {
  console.log(`${isRight ? "ok  " : "FAIL"}  ${name}: ${JSON.stringify(seen)}`);
  if (!isRight) process.exitCode = 1;
}

/** MiB of all processes on the GPUs. */
async function usedMb(): Promise<number> {
  return (await readGpuProcesses()).reduce((sum, { memoryMb }) => sum + memoryMb, 0);
}

async function showInventory(): Promise<void> {
  const reading = await readGpus();
  report("inventory", reading.kind === "found" && reading.gpus.length > 0, reading);
}

async function showSharing(host: GpuHost): Promise<GpuWorker> {
  const [first, second] = [await host.start(2_000, DECLARED_MB), await host.start(2_000, DECLARED_MB)];
  const seen = [await first.printed("allocated"), await second.printed("allocated")];
  const telemetry = await readGpuTelemetry();
  report("two workers on one GPU", seen.every(Boolean), { used: await usedMb() });
  report("telemetry", (telemetry[0]?.memoryUsedMb ?? 0) >= 4_000, telemetry);
  const greedy = await host.start(DECLARED_MB + 2_000, DECLARED_MB);
  const reason = await greedy.ended();
  report("one that takes more than it has declared", reason.includes("gpuMemoryGb"), reason);
  report("the others go on", (await host.running()).length === 2, await host.running());
  await second.remove();
  return first;
}

/** A frozen container is to leave the GPU to others; otherwise standby has to stop it, or to move its memory away. */
async function showStandby(worker: GpuWorker): Promise<void> {
  const before = await usedMb();
  await worker.freeze();
  await delay(SETTLED_MS);
  const frozen = await usedMb();
  report("a pause frees GPU memory", frozen < before - CONTEXT_MB, { before, frozen });
  await worker.thaw();
  await moveToMainMemory(before);
}

/** With NVIDIA's cuda-checkpoint: https://github.com/NVIDIA/cuda-checkpoint, drivers from 550 on. */
async function moveToMainMemory(before: number): Promise<void> {
  const [process] = await readGpuProcesses();
  if (!process) return report("cuda-checkpoint", false, "no process on the GPU");
  const toggle = async () => {
    const startedAt = performance.now();
    await run("cuda-checkpoint", ["--toggle", "--pid", `${process.pid}`]);
    return Math.round(performance.now() - startedAt);
  };
  try {
    const savedMs = await toggle();
    const saved = await usedMb();
    const restoredMs = await toggle();
    report("cuda-checkpoint frees GPU memory", saved < before - CONTEXT_MB, {
      before,
      saved,
      savedMs,
      restoredMs,
    });
    return report("cuda-checkpoint brings it back", (await usedMb()) >= before, await usedMb());
  } catch (error) {
    return report("cuda-checkpoint", false, String(error));
  }
}

await showInventory();
await using host = await GpuHost.open(IMAGE);
const job = await host.run(`import torch; print("sum", int(torch.ones(1000, device="cuda").sum()))`);
report("a CUDA job in a container of the agent", job.includes("sum 1000"), job);
await showStandby(await showSharing(host));
