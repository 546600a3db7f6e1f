/**
 * The network volumes that this host can give its workers: <directory>/<volumeId>, each a directory, a mount point
 * or a link to one. What is behind a link that leads nowhere is not there.
 */
import { chmod, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const VOLUME_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** A file server that is gone can keep a look waiting for ever. */
const LOOKUP_LIMIT_MS = 3_000;
/** As many as an inventory may tell. */
const VOLUMES_MAX = 1_000;

export type VolumesSettings = {
  readonly directory: string;
  /** A volume that is not there is made as an empty directory when a worker wants it. */
  readonly createsMissing: boolean;
};

export class Volumes {
  readonly #settings: VolumesSettings;
  /** Looks under way: one that hangs is not joined by another. */
  readonly #lookups = new Map<string, Promise<string | null>>();

  constructor(settings: VolumesSettings) {
    this.#settings = settings;
  }

  /** What to tell the edge: ids of those that are there; undefined when the host can have any. */
  async offered(): Promise<string[] | undefined> {
    return this.#settings.createsMissing ? undefined : this.ids();
  }

  /** Ids of those that are there. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#settings.directory).catch(() => []);
    const volumeIds = names.filter((name) => VOLUME_ID.test(name)).slice(0, VOLUMES_MAX);
    const paths = await Promise.all(volumeIds.map((id) => this.#find(id)));
    return volumeIds.filter((_, index) => paths[index] !== null).toSorted();
  }

  /** Where the first of these volumes is that this host has; null for none wanted. Throws with words for people. */
  async pathOfFirst(ids: readonly string[]): Promise<string | null> {
    if (ids.length === 0) return null;
    for (const id of ids) {
      const path = await this.#find(id);
      if (path !== null) return path;
    }
    const [first = ""] = ids;
    if (this.#settings.createsMissing) return this.create(first);
    throw new Error(
      `Network volume ${ids.join(" or ")} is not on this host. Make it with "edgerun-agent volume add ${first}", or mount it at ${join(this.#settings.directory, first)}.`,
    );
  }

  /** Makes an empty volume unless it is there; answers where. */
  async create(id: string): Promise<string> {
    const path = this.#place(id);
    // Workers write as any user; users of this host shall not come by.
    await mkdir(this.#settings.directory, { recursive: true, mode: 0o700 });
    try {
      await mkdir(path);
      await chmod(path, 0o777);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    const found = await this.#find(id);
    if (found === null) throw new Error(`${path} is there, but it is no directory that can be reached.`);
    return found;
  }

  async #find(id: string): Promise<string | null> {
    const path = this.#place(id);
    const lookup = this.#lookups.get(path) ?? directoryAt(path);
    this.#lookups.set(path, lookup);
    void lookup.finally(() => this.#lookups.delete(path));
    const limit = new AbortController();
    const late = delay(LOOKUP_LIMIT_MS, null, { signal: limit.signal, ref: false }).catch(() => null);
    return Promise.race([lookup, late]).finally(() => limit.abort());
  }

  #place(id: string): string {
    if (!VOLUME_ID.test(id)) throw new Error(`"${id}" is no id of a network volume.`);
    return join(this.#settings.directory, id);
  }
}

/** The directory itself, with links followed. */
async function directoryAt(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
