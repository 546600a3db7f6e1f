/** When each host was last heard, and until when its silence is fine. Lost with memory, by design. */
import { HOST_GRACE_MS } from "../contract/limits.ts";

type Heard = { readonly at: number; readonly holdMs: number };

export class HostPresence {
  readonly #heard = new Map<string, Heard>();
  /** Those that were not found lost. */
  readonly #present = new Set<string>();
  /** No present host is lost before. */
  #earliestDueAt = Number.POSITIVE_INFINITY;

  /** The host spoke; it promised to speak again within `holdMs`. Says whether it was away. */
  heard(hostId: string, at: number, holdMs: number): "came" | "stayed" {
    const isNew = !this.#present.has(hostId);
    this.#heard.set(hostId, { at, holdMs });
    this.#present.add(hostId);
    this.#earliestDueAt = Math.min(this.#earliestDueAt, at + holdMs + HOST_GRACE_MS);
    return isNew ? "came" : "stayed";
  }

  isPresent(hostId: string, now: number): boolean {
    const dueAt = this.#dueAt(hostId);
    return dueAt !== undefined && now < dueAt;
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
      (earliest, hostId) => Math.min(earliest, this.#dueAt(hostId) ?? earliest),
      Number.POSITIVE_INFINITY,
    );
    return lost;
  }

  forget(hostId: string): void {
    this.#heard.delete(hostId);
    this.#present.delete(hostId);
  }

  /** From this moment on the host is lost, unless it speaks. */
  #dueAt(hostId: string): number | undefined {
    const heard = this.#heard.get(hostId);
    return heard && heard.at + heard.holdMs + HOST_GRACE_MS;
  }
}
