/** How much of this host is in use, read every 15 seconds. */
import type { GpuTelemetry, HostTelemetry } from "../../src/contract/agent/telemetry.ts";
import { readFile, statfs } from "node:fs/promises";
import { cpus } from "node:os";

const REFRESH_MS = 15_000;

export type TelemetrySources = {
  readonly stateDir: string;
  readonly readGpus: () => Promise<readonly GpuTelemetry[]>;
};

export class TelemetryWatch {
  readonly #sources: TelemetrySources;
  readonly #timer: NodeJS.Timeout;
  #counters: HostCounters | undefined;
  #latest: { readonly readAt: number; readonly telemetry: Omit<HostTelemetry, "ago"> } | undefined;
  #reading: Promise<void> | undefined;

  constructor(sources: TelemetrySources) {
    this.#sources = sources;
    this.#timer = setInterval(() => void this.refresh(), REFRESH_MS);
    this.#timer.unref();
    void this.refresh();
  }

  /** The last reading; undefined before the first. */
  latest(): HostTelemetry | undefined {
    if (!this.#latest) return undefined;
    const { telemetry, readAt } = this.#latest;
    return { ...telemetry, ago: Math.round(performance.now() - readAt) };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reads everything; one reading at a time, since a driver in trouble answers late. */
  async refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { stateDir, readGpus } = this.#sources;
    const [counters, memory, disk, gpus] = await Promise.all([
      readHostCounters(),
      readMemory(),
      readDisk(stateDir),
      readGpus(),
    ]);
    const telemetry = {
      ...ratesBetween(this.#counters, counters),
      memoryUsedMb: memory?.usedMb ?? null,
      memoryTotalMb: memory?.totalMb ?? null,
      diskUsedMb: disk?.usedMb ?? null,
      diskTotalMb: disk?.totalMb ?? null,
      gpus: [...gpus],
    };
    this.#counters = counters;
    this.#latest = { readAt: performance.now(), telemetry };
  }
}

/** What happened per second between two readings; null where one is missing or a counter was reset. */
export function ratesBetween(before: HostCounters | undefined, after: HostCounters) {
  const seconds = before ? (after.at - before.at) / 1_000 : 0;
  const rate = (from: number | undefined, to: number | undefined) =>
    from === undefined || to === undefined || to < from || seconds <= 0 ? null : (to - from) / seconds;
  const cpuMs = before ? after.cpuTotalMs - before.cpuTotalMs : 0;
  return {
    cpuPercent: before && cpuMs > 0 ? share(after.cpuBusyMs - before.cpuBusyMs, cpuMs) : null,
    networkReceivedBytesPerS: rate(before?.network?.receivedBytes, after.network?.receivedBytes),
    networkSentBytesPerS: rate(before?.network?.sentBytes, after.network?.sentBytes),
  };
}

function share(part: number, whole: number): number {
  return Math.min(100, Math.max(0, Math.round((1_000 * part) / whole) / 10));
}

export type HostCounters = {
  readonly at: number;
  /** Time of all cores, in ms since the machine started. */
  readonly cpuBusyMs: number;
  readonly cpuTotalMs: number;
  /** Null where the machine does not report it. */
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
