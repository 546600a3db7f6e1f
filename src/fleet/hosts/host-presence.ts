import type { HostTelemetry } from "../../contract/agent/telemetry.ts";

/** When each host last called, and how much of it is in use. In memory only: the next sync reports it again. */

/** Silence beyond the promised next sync after which a host is lost. */
export const HOST_GRACE_MS = 8_000;

export type Heard = {
  readonly at: number;
  readonly holdMs: number;
  /** The presence that was open when the host called. */
  readonly presence?: string | undefined;
};

export class HostPresence {
  readonly #heard = new Map<string, Heard>();
  /** Hosts that were not found lost. */
  readonly #present = new Set<string>();
  /** No present host is lost before this time. */
  #earliestDueAt = Number.POSITIVE_INFINITY;

  /** The host called and will call again within `holdMs`. Returns whether it was absent before. */
  heard(hostId: string, heard: Heard): "came" | "stayed" {
    const isNew = !this.#present.has(hostId);
    const wasFirst = !isNew && this.#lostAt(hostId) === this.#earliestDueAt;
    this.#heard.set(hostId, heard);
    this.#present.add(hostId);
    if (wasFirst) this.#findEarliest(); // an alarm for a time that counts no more would be a row for nothing
    else this.#earliestDueAt = Math.min(this.#earliestDueAt, dueAt(heard));
    return isNew ? "came" : "stayed";
  }

  /**
   * The presence of the host is silent since `at`: its announced next call counts no more. The end of a presence
   * that was replaced means nothing. Returns whether it was the present one.
   */
  silent(hostId: string, presence: string, at: number): boolean {
    const heard = this.#heard.get(hostId);
    if (heard?.presence !== presence) return false;
    const ended = { at: Math.max(heard.at, at), holdMs: 0 };
    this.#heard.set(hostId, ended);
    this.#earliestDueAt = Math.min(this.#earliestDueAt, dueAt(ended));
    return true;
  }

  /**
   * Whether what a call has announced is what counts: another call, which it has overtaken, may have come after it, or
   * the end of its presence.
   */
  isPromised(hostId: string, { holdMs, presence }: Heard): boolean {
    const heard = this.#heard.get(hostId);
    return heard?.holdMs === holdMs && heard.presence === presence;
  }

  isPresent(hostId: string, now: number): boolean {
    const lostAt = this.#lostAt(hostId);
    return lostAt !== undefined && now < lostAt;
  }

  /** When the host was last heard; null when that is not remembered. */
  heardAt(hostId: string): number | null {
    return this.#heard.get(hostId)?.at ?? null;
  }

  /** A time before which no present host is lost; null when none is present. */
  get earliestDueAt(): number | null {
    return this.#present.size === 0 ? null : this.#earliestDueAt;
  }

  /** Hosts that became lost since the last call. */
  takeLost(now: number): string[] {
    if (now < this.#earliestDueAt) return [];
    const lost = [...this.#present].filter((hostId) => !this.isPresent(hostId, now));
    for (const hostId of lost) this.#present.delete(hostId);
    this.#findEarliest();
    return lost;
  }

  #findEarliest(): void {
    this.#earliestDueAt = [...this.#present].reduce(
      (earliest, hostId) => Math.min(earliest, this.#lostAt(hostId) ?? earliest),
      Number.POSITIVE_INFINITY,
    );
  }

  forget(hostId: string): void {
    this.#heard.delete(hostId);
    this.#present.delete(hostId);
  }

  /** From this time on the host is lost, unless it calls. */
  #lostAt(hostId: string): number | undefined {
    const heard = this.#heard.get(hostId);
    return heard && dueAt(heard);
  }
}

function dueAt({ at, holdMs }: Heard): number {
  return at + holdMs + HOST_GRACE_MS;
}

/** The latest use of a host. `at`: when it was read, in ms of the edge's clock. */
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
