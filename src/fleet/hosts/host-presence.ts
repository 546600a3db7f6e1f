/** When each host was last heard, and until when its silence is fine. Lost with memory, by design. */

/** Silence beyond the promised next sync after which a host is lost. */
export const HOST_GRACE_MS = 8_000;

export type Heard = {
  readonly at: number;
  readonly holdMs: number;
  /** The presence that was open when the host spoke. */
  readonly presence?: string | undefined;
};

export class HostPresence {
  readonly #heard = new Map<string, Heard>();
  /** Those that were not found lost. */
  readonly #present = new Set<string>();
  /** No present host is lost before. */
  #earliestDueAt = Number.POSITIVE_INFINITY;

  /** The host spoke; it promised to speak again within `holdMs`. Says whether it was away. */
  heard(hostId: string, heard: Heard): "came" | "stayed" {
    const isNew = !this.#present.has(hostId);
    this.#heard.set(hostId, heard);
    this.#present.add(hostId);
    this.#earliestDueAt = Math.min(this.#earliestDueAt, dueAt(heard));
    return isNew ? "came" : "stayed";
  }

  /**
   * The host's presence is silent since `at`: what it promised holds no more. The end of a presence that the host
   * has replaced says nothing. Says whether it was the present one.
   */
  silent(hostId: string, presence: string, at: number): boolean {
    const heard = this.#heard.get(hostId);
    if (heard?.presence !== presence) return false;
    const ended = { at: Math.max(heard.at, at), holdMs: 0 };
    this.#heard.set(hostId, ended);
    this.#earliestDueAt = Math.min(this.#earliestDueAt, dueAt(ended));
    return true;
  }

  isPresent(hostId: string, now: number): boolean {
    const lostAt = this.#lostAt(hostId);
    return lostAt !== undefined && now < lostAt;
  }

  /** When the host was last heard; null when that is not remembered. */
  heardAt(hostId: string): number | null {
    return this.#heard.get(hostId)?.at ?? null;
  }

  /** A time before which no present host is lost; null when none is there. */
  get earliestDueAt(): number | null {
    return this.#present.size === 0 ? null : this.#earliestDueAt;
  }

  /** Hosts that have become lost since this was last asked. */
  takeLost(now: number): string[] {
    if (now < this.#earliestDueAt) return [];
    const lost = [...this.#present].filter((hostId) => !this.isPresent(hostId, now));
    for (const hostId of lost) this.#present.delete(hostId);
    this.#earliestDueAt = [...this.#present].reduce(
      (earliest, hostId) => Math.min(earliest, this.#lostAt(hostId) ?? earliest),
      Number.POSITIVE_INFINITY,
    );
    return lost;
  }

  forget(hostId: string): void {
    this.#heard.delete(hostId);
    this.#present.delete(hostId);
  }

  /** From this moment on the host is lost, unless it speaks. */
  #lostAt(hostId: string): number | undefined {
    const heard = this.#heard.get(hostId);
    return heard && dueAt(heard);
  }
}

function dueAt({ at, holdMs }: Heard): number {
  return at + holdMs + HOST_GRACE_MS;
}
