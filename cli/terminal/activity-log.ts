import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const FILE_NAME = "activity.log";
const RETENTION_DAYS = 30;
const DAY_CHARACTERS = "2026-01-01".length;

/**
 * `.flash/logs/activity.log`: what commands did in this project, one file a day. Lines are buffered until `.flash/`
 * exists. A log that cannot be written stops no command.
 */
export class ActivityLog {
  readonly #projectDirectory: string;
  readonly #now: () => Date;
  #buffered: string[] = [];

  constructor(directory: string, now: () => Date = () => new Date()) {
    this.#projectDirectory = join(directory, ".flash");
    this.#now = now;
  }

  /** The caller has redacted secrets. */
  append(line: string): void {
    this.#buffered.push(`${this.#now().toISOString()} ${process.pid} ${line}\n`);
    this.flush();
  }

  flush(): void {
    if (this.#buffered.length === 0 || !existsSync(this.#projectDirectory)) return;
    try {
      const folder = join(this.#projectDirectory, "logs");
      mkdirSync(folder, { recursive: true });
      this.#rotate(folder);
      appendFileSync(join(folder, FILE_NAME), this.#buffered.join(""));
    } catch {
      // Its directory may be read-only, or another command may be rotating the log.
    }
    this.#buffered = [];
  }

  #rotate(folder: string): void {
    const path = join(folder, FILE_NAME);
    if (!existsSync(path)) return;
    const day = dayOf(statSync(path).mtime);
    if (day === dayOf(this.#now())) return;
    renameSync(path, `${path}.${day}`);
    const old = readdirSync(folder).filter((name) => name.startsWith(`${FILE_NAME}.`));
    for (const name of old.toSorted().slice(0, -RETENTION_DAYS)) rmSync(join(folder, name));
  }
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, DAY_CHARACTERS);
}
