/** Memory of processes. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const KB_PER_MB = 1_000;
const LOOK_MS = 100;

/** Resident memory in MB (of a million bytes); 0 where there is no /proc. */
export function residentMb(pid: number): number {
  try {
    const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return (Number(kb) * 1_024) / (KB_PER_MB * KB_PER_MB);
  } catch {
    return 0;
  }
}

/** The most that each process had until something is over. */
export async function peakMb(pids: readonly number[], isOver: () => boolean): Promise<readonly number[]> {
  const peaks = pids.map(() => 0);
  while (!isOver()) {
    pids.forEach((pid, at) => (peaks[at] = Math.max(peaks[at] ?? 0, residentMb(pid))));
    await delay(LOOK_MS);
  }
  return peaks;
}
