/** What Linux counts of the whole machine; the difference of two readings tells how busy it was in between. */
import { readFile, statfs } from "node:fs/promises";
import { cpus } from "node:os";

export type HostCounters = {
  readonly at: number;
  /** Of all cores, in ms since the machine started. */
  readonly cpuBusyMs: number;
  readonly cpuTotalMs: number;
  /** Null where the machine does not tell. */
  readonly network: { readonly receivedBytes: number; readonly sentBytes: number } | null;
};

export async function readHostCounters(): Promise<HostCounters> {
  const times = cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const cpuTotalMs = times.reduce(
    (sum, { user, nice, sys, idle: idleMs, irq }) => sum + user + nice + sys + idleMs + irq,
    0,
  );
  const network = parseNetDev(await textOf("/proc/net/dev"));
  return { at: performance.now(), cpuBusyMs: cpuTotalMs - idle, cpuTotalMs, network };
}

/** Bytes of all interfaces that lead out of the machine. */
export function parseNetDev(text: string): HostCounters["network"] {
  const rows = text
    .split("\n")
    .map((line) => /^([^:\s]+):(.*)$/.exec(line.trim()))
    .flatMap((match) =>
      match ? [{ name: match[1] ?? "", fields: (match[2] ?? "").trim().split(/\s+/) }] : [],
    )
    .filter(({ name }) => !/^(lo|veth|docker|br-|virbr)/.test(name));
  if (rows.length === 0) return null;
  const sum = (column: number) => rows.reduce((total, { fields }) => total + Number(fields[column] ?? 0), 0);
  return { receivedBytes: sum(0), sentBytes: sum(8) };
}

/** Memory that programs hold, without what the system would give back at once. */
export async function readMemory(): Promise<{ usedMb: number; totalMb: number } | null> {
  const text = await textOf("/proc/meminfo");
  const total = /^MemTotal:\s+(\d+) kB/m.exec(text)?.[1];
  const available = /^MemAvailable:\s+(\d+) kB/m.exec(text)?.[1];
  if (total === undefined || available === undefined) return null;
  const usedMb = Math.round((Number(total) - Number(available)) / 1024);
  return { usedMb, totalMb: Math.round(Number(total) / 1024) };
}

export async function readDisk(directory: string): Promise<{ usedMb: number; totalMb: number } | null> {
  try {
    const { blocks, bfree, bsize } = await statfs(directory);
    const megabytes = (count: number) => Math.round((count * bsize) / 2 ** 20);
    return { usedMb: megabytes(blocks - bfree), totalMb: megabytes(blocks) };
  } catch {
    return null;
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
