/** What processes of this machine have of the memory of GPUs, as nvidia-smi reports it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

const READING_LIMIT_MS = 10_000;
const OPTIONS = ["--query-compute-apps=pid,used_memory,gpu_uuid", "--format=csv,noheader,nounits"];

/** Of one process on one GPU, in MiB. */
export type GpuProcess = { readonly pid: number; readonly memoryMb: number; readonly gpuUuid: string };

/** Throws when nvidia-smi is missing or fails: nothing is known then. */
export async function readGpuProcesses(command = "nvidia-smi"): Promise<readonly GpuProcess[]> {
  return parseGpuProcesses((await run(command, OPTIONS, { timeout: READING_LIMIT_MS })).stdout);
}

/** Processes whose memory the driver does not report are left out. */
export function parseGpuProcesses(text: string): readonly GpuProcess[] {
  return text.split("\n").flatMap((line) => {
    const [pid = "", memory = "", gpuUuid = ""] = line.split(",").map((field) => field.trim());
    const memoryMb = /^(\d+)(?: MiB)?$/.exec(memory)?.[1];
    if (!/^\d+$/.test(pid) || memoryMb === undefined) return [];
    return { pid: Number(pid), memoryMb: Number(memoryMb), gpuUuid };
  });
}
