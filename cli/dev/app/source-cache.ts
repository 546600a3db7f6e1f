/** Contents of local files by the SHA-256 of their bytes, for live workers. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Keeps a byte order mark; throws where bytes are not UTF-8. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export type SourceReading = {
  /** Files whose bytes no longer match their hash. */
  readonly changed: readonly string[];
  /** Files that are not UTF-8 and cannot be sent. */
  readonly unsendable: readonly string[];
};

export class SourceCache {
  readonly #directory: string;
  #latest = new Map<string, string>();
  #before = new Map<string, string>();
  /** SHA-256 of files that are not UTF-8. */
  readonly #unsendable = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** From the latest reading and the one before, whose calls may still be running. */
  get(sha256: string): string | undefined {
    return this.#latest.get(sha256) ?? this.#before.get(sha256);
  }

  /** Loads the files of a reading, by path → SHA-256. */
  async update(hashes: Readonly<Record<string, string>>): Promise<SourceReading> {
    const latest = new Map<string, string>();
    const changed: string[] = [];
    for (const [path, sha256] of Object.entries(hashes)) {
      if (this.#unsendable.has(sha256)) continue;
      const source = this.get(sha256) ?? (await this.#read(path, sha256));
      if (source !== undefined) latest.set(sha256, source);
      else if (!this.#unsendable.has(sha256)) changed.push(path);
    }
    const isOther = [...latest.keys()].some((sha256) => !this.#latest.has(sha256));
    if (changed.length === 0 && isOther) {
      this.#before = this.#latest;
      this.#latest = latest;
    }
    const unsendable = Object.keys(hashes).filter((path) => this.#unsendable.has(hashes[path] ?? ""));
    return { changed, unsendable };
  }

  async #read(path: string, sha256: string): Promise<string | undefined> {
    const bytes = await readFile(join(this.#directory, path)).catch(() => undefined);
    if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== sha256) return undefined;
    try {
      return decoder.decode(bytes);
    } catch {
      this.#unsendable.add(sha256);
      return undefined;
    }
  }
}
