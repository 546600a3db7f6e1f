/** When each host was last heard, and until when its silence is fine. Lost with memory, by design. */
import { HOST_GRACE_MS } from "../contract/limits.ts";

type Heard = { readonly at: number; readonly holdMs: number };

export class HostPresence {
  readonly #heard = new Map<string, Heard>();

  /** The host spoke; it promised to speak again within `holdMs`. */
  heard(hostId: string, at: number, holdMs: number): void {
    this.#heard.set(hostId, { at, holdMs });
  }

  isPresent(hostId: string, now: number): boolean {
    const dueAt = this.dueAt(hostId);
    return dueAt !== undefined && now < dueAt;
  }

  /** From this moment on the host is lost, unless it speaks. */
  dueAt(hostId: string): number | undefined {
    const heard = this.#heard.get(hostId);
    return heard && heard.at + heard.holdMs + HOST_GRACE_MS;
  }

  forget(hostId: string): void {
    this.#heard.delete(hostId);
  }
}
