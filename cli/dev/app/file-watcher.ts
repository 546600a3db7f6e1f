/**
 * Reports that files of a project may have changed. Watches each given directory separately; the reader of the project
 * decides which these are.
 */
import { errorMessage } from "../../../src/std/errors.ts";
import { type FSWatcher, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Delay after the last event: editors write several times for one save, checkouts write many files. */
const QUIET_MS = 20;
/** Limit of that delay during continuous changes. */
const LONGEST_WAIT_MS = 300;

const ALWAYS_FOLLOWED = /\.py$|^\.gitignore$|^\.env/;

type Followed = { readonly watcher: FSWatcher; readonly inode: number };

export class FileWatcher {
  readonly #onChange: () => void;
  readonly #onFailure: (reason: string) => void;
  readonly #directories = new Map<string, Followed>();
  #files: ReadonlySet<string> = new Set();
  /** Directories of such files outside the watched ones. */
  #outside: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #firstAt = 0;
  #hasFailed = false;

  /** `onFailure` is called once with the reason when the system allows no more watchers. */
  constructor(onChange: () => void, onFailure: (reason: string) => void) {
    this.#onChange = onChange;
    this.#onFailure = onFailure;
  }

  /** Watches these directories and no others; returns whether some are new. */
  follow(directories: readonly string[]): boolean {
    const watched = new Set([...directories, ...this.#outside]);
    for (const path of this.#directories.keys()) if (!watched.has(path)) this.#unwatch(path);
    const added = [...watched].filter((path) => this.#watch(path));
    return added.some((path) => !this.#outside.includes(path));
  }

  /** Watches files other than Python modules. */
  followFiles(paths: readonly string[]): void {
    this.#files = new Set(paths);
    this.#outside = [...new Set(paths.map((path) => dirname(path)))];
    for (const path of this.#outside) this.#watch(path);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const path of this.#directories.keys()) this.#unwatch(path);
  }

  /** A directory that was created again under its name counts as new. */
  #watch(path: string): boolean {
    const inode = statSync(path, { throwIfNoEntry: false })?.ino;
    if (inode === undefined || this.#directories.get(path)?.inode === inode) return false;
    this.#unwatch(path);
    try {
      const watcher = watch(path, (event, name) => this.#onEvent(path, event, name));
      watcher.on("error", () => this.#unwatch(path));
      this.#directories.set(path, { watcher, inode });
      return true;
    } catch (error) {
      this.#fail(errorMessage(error));
      return false;
    }
  }

  #unwatch(path: string): void {
    this.#directories.get(path)?.watcher.close();
    this.#directories.delete(path);
  }

  #fail(reason: string): void {
    if (!this.#hasFailed) this.#onFailure(reason);
    this.#hasFailed = true;
  }

  #onEvent(directory: string, event: string, name: string | null): void {
    const path = name === null ? directory : join(directory, name);
    if (name === null || this.#matters(path)) this.#wait();
    else if (event === "rename") void this.#waitForDirectory(path);
  }

  #matters(path: string): boolean {
    return ALWAYS_FOLLOWED.test(basename(path)) || this.#files.has(path) || this.#directories.has(path);
  }

  async #waitForDirectory(path: string): Promise<void> {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory()) this.#wait();
  }

  #wait(): void {
    const now = performance.now();
    if (this.#timer === undefined) this.#firstAt = now;
    else if (now - this.#firstAt > LONGEST_WAIT_MS) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, QUIET_MS);
  }
}
