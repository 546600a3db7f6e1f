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

  /**
   * The classes of hosts for a worker that needs this, the best first: those that have all, those that have at least the
   * image, the others. None where no host has any of it.
   */
  classesFor(needed: readonly string[]): readonly HostClass[] {
    const holders = needed.map((content) => this.#holders.get(content) ?? NONE);
    if (holders.every(({ size }) => size === 0)) return [];
    const rarest = holders.reduce((least, one) => (one.size < least.size ? one : least));
    const whole = new Set([...rarest].filter((hostId) => this.lackOn(hostId, needed) === 0));
    const images = needed.filter(isImageContent).map((content) => this.#holders.get(content) ?? NONE);
    const hasImage = (hostId: string) => images.every((one) => one.has(hostId));
    const classes: HostClass[] = [(hostId) => !hasImage(hostId)];
    if (images.every(({ size }) => size > 0))
      classes.unshift((hostId) => hasImage(hostId) && !whole.has(hostId));
    if (whole.size > 0) classes.unshift((hostId) => whole.has(hostId));
    return classes;
  }
}

/** Whether a host belongs to it. */
export type HostClass = (hostId: string) => boolean;

const NONE: ReadonlySet<string> = new Set();

function weightOf(content: string): number {
  return isImageContent(content) ? 1_000 : 1;
}
