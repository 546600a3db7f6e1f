import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

const QUERY_LIMIT_MS = 30_000;

/** Newest CUDA that the driver of this machine knows, such as 12.4; undefined when nobody says. */
export async function readCudaVersion(command = "nvidia-smi"): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, [], { timeout: QUERY_LIMIT_MS });
    return parseCudaVersion(stdout);
  } catch {
    return undefined; // reading the GPUs tells what is wrong
  }
}

/** Reads the head of the table that nvidia-smi prints; newer drivers name two versions, of which the driver's counts. */
export function parseCudaVersion(table: string): string | undefined {
  return /CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)/.exec(table)?.[1];
}
