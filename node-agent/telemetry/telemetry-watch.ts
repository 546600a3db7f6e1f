/** How much of this host is in use, read anew every quarter of a minute. */
import type { GpuTelemetry, HostTelemetry } from "../../src/contract/agent/telemetry.ts";
import { readDisk, readHostCounters, readMemory, type HostCounters } from "./host-counters.ts";

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

/** What happened per second between two readings; null where one is missing or a counter began anew. */
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
