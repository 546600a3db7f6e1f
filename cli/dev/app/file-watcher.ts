/** Tells that something of a project may have changed, soon after it has. */
import { basename } from "node:path";
import { type FSWatcher, watch } from "chokidar";

/** Editors write several times for one save, and checkouts many files. */
const QUIET_MS = 20;
/** A storm of changes is looked at this often. */
const LONGEST_WAIT_MS = 300;

const ALWAYS_WATCHED = /\.py$|^\.gitignore$|^\.env/;

export class FileWatcher {
  readonly #watcher: FSWatcher;
  readonly #onChange: () => void;
  /** Whole paths. */
  readonly #watched = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #firstAt = 0;

  /** `onFailure` is told once why the system lets nothing more be watched. */
  constructor(onChange: () => void, onFailure: (reason: string) => void) {
    this.#onChange = onChange;
    this.#watcher = watch([], {
      ignoreInitial: true,
      depth: 0,
      atomic: false,
      ignored: (path, stats) => stats?.isFile() === true && !this.#matters(path),
    });
    this.#watcher.on("all", (event, path) => {
      // What comes again under its name has to be added again.
      if (event === "unlink" || event === "unlinkDir") this.#watched.delete(path);
      this.#wait();
    });
    let hasFailed = false;
    this.#watcher.on("error", (error) => {
      if (!hasFailed) onFailure(error instanceof Error ? error.message : String(error));
      hasFailed = true;
    });
  }

  /** These are watched from now on, and nothing else: directories, and files that are no Python, as whole paths. */
  watch(paths: readonly string[]): void {
    const wanted = new Set(paths);
    const gone = [...this.#watched].filter((path) => !wanted.has(path));
    const added = [...wanted].filter((path) => !this.#watched.has(path));
    for (const path of gone) this.#watched.delete(path);
    for (const path of added) this.#watched.add(path);
    if (gone.length > 0) this.#watcher.unwatch(gone);
    if (added.length > 0) this.#watcher.add(added);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#watcher.close();
  }

  #matters(path: string): boolean {
    return ALWAYS_WATCHED.test(basename(path)) || this.#watched.has(path);
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
