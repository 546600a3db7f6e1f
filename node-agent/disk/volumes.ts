/**
 * The network volumes that this host can give its workers: <directory>/<volumeId>, each a directory, a mount point
 * or a link to one. A link that leads nowhere is no volume.
 */
import { chmod, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../src/std/errors.ts";
import { within } from "../../src/std/waiting.ts";

/** Where volumes are unless the host is configured otherwise. */
export const VOLUMES_DIRECTORY = "/var/lib/edgerun-volumes";

const VOLUME_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** A lookup on a file server that is gone may never return. */
const LOOKUP_LIMIT_MS = 3_000;
/** The most that an inventory may list. */
const VOLUMES_MAX = 1_000;

export type VolumesSettings = {
  readonly directory: string;
  /** A missing volume is created as an empty directory when a worker needs it. */
  readonly createsMissing: boolean;
};

export class Volumes {
  readonly #settings: VolumesSettings;
  /** Lookups under way: one that hangs is not repeated. */
  readonly #lookups = new Map<string, Promise<string | null>>();

  constructor(settings: VolumesSettings) {
    this.#settings = settings;
  }

  /** Ids of the volumes to report to the edge; undefined when the host creates any volume. */
  async offered(): Promise<string[] | undefined> {
    return this.#settings.createsMissing ? undefined : this.ids();
  }

  /** Ids of the volumes of this host. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#settings.directory).catch(() => []);
    const volumeIds = names.filter((name) => VOLUME_ID.test(name)).slice(0, VOLUMES_MAX);
    const paths = await Promise.all(volumeIds.map((id) => this.#find(id)));
    return volumeIds.filter((_, index) => paths[index] !== null).toSorted();
  }

  /** Directory of the first of these volumes that this host has; null for an empty list. Throws when it has none. */
  async pathOfFirst(ids: readonly string[]): Promise<string | null> {
    if (ids.length === 0) return null;
    for (const id of ids) {
      const path = await this.#find(id);
      if (path !== null) return path;
    }
    const [first = ""] = ids;
    if (this.#settings.createsMissing) return this.create(first);
    throw new Error(
      `Network volume ${ids.join(" or ")} is not on this host. Create it with "edgerun-agent volume add ${first}", or mount it at ${join(this.#settings.directory, first)}.`,
    );
  }

  /** Creates an empty volume unless it exists; returns its directory. */
  async create(id: string): Promise<string> {
    const path = this.#place(id);
    // Workers write as any user; other users of this host must not reach it.
    await mkdir(this.#settings.directory, { recursive: true, mode: 0o700 });
    try {
      await mkdir(path);
      await chmod(path, 0o777);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    const found = await this.#find(id);
    if (found === null) throw new Error(`${path} exists, but is not a directory that can be reached.`);
    return found;
  }

  async #find(id: string): Promise<string | null> {
    const path = this.#place(id);
    const lookup = this.#lookups.get(path) ?? directoryAt(path);
    this.#lookups.set(path, lookup);
    void lookup.finally(() => this.#lookups.delete(path));
    return within(LOOKUP_LIMIT_MS, lookup, null);
  }

  #place(id: string): string {
    if (!VOLUME_ID.test(id)) throw new Error(`"${id}" is not the id of a network volume.`);
    return join(this.#settings.directory, id);
  }
}

/** Resolves links; null when the path leads to no directory. */
async function directoryAt(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
