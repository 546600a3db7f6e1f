/** Which hosts of an account have what workers need, so that workers go where it is. */
import { isImageContent } from "../../contract/content.ts";

export class HostContents {
  /** By content. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #byHost = new Map<string, ReadonlySet<string>>();

  /** What a host has now. */
  record(hostId: string, contents: readonly string[]): void {
    const before = this.#byHost.get(hostId);
    const now = new Set(contents);
    if (before && before.size === now.size && contents.every((content) => before.has(content))) return;
    this.forget(hostId);
    this.#byHost.set(hostId, now);
    for (const content of now) {
      const holders = this.#holders.get(content);
      if (holders) holders.add(hostId);
      else this.#holders.set(content, new Set([hostId]));
    }
  }

  forget(hostId: string): void {
    for (const content of this.#byHost.get(hostId) ?? []) {
      const holders = this.#holders.get(content);
      holders?.delete(hostId);
      if (holders?.size === 0) this.#holders.delete(content);
    }
    this.#byHost.delete(hostId);
  }

  /** How much a host lacks of this; an image counts more than all else together. 0 for nothing. */
  lackOn(hostId: string, needed: readonly string[]): number {
    const present = this.#byHost.get(hostId);
    return needed.reduce((sum, content) => sum + (present?.has(content) ? 0 : weightOf(content)), 0);
  }

  /** The hosts that have the rarest of this, and perhaps the rest; none where no host has any of it. */
  holdersOfRarest(needed: readonly string[]): ReadonlySet<string> {
    const known = needed.flatMap((content) => this.#holders.get(content) ?? []);
    return known.reduce(
      (rarest, holders) => (holders.size < rarest.size ? holders : rarest),
      known[0] ?? NONE,
    );
  }
}

const NONE: ReadonlySet<string> = new Set();

function weightOf(content: string): number {
  return isImageContent(content) ? 1_000 : 1;
}
