/** How much of each host is in use: the latest that it told. In memory only; the next sync brings it again. */
import type { HostTelemetry } from "../../contract/agent/telemetry.ts";

/** `at`: when it was read, in ms of the edge's clock. */
export type SeenTelemetry = Omit<HostTelemetry, "ago"> & { readonly at: number };

export class TelemetryCache {
  readonly #latest = new Map<string, SeenTelemetry>();

  record(hostId: string, { ago, ...telemetry }: HostTelemetry, now: number): void {
    this.#latest.set(hostId, { ...telemetry, at: now - ago });
  }

  of(hostId: string): SeenTelemetry | null {
    return this.#latest.get(hostId) ?? null;
  }

  forget(hostId: string): void {
    this.#latest.delete(hostId);
  }
}
