/** The app of a project, read again whenever its files change. */
import { realpath } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import type { Cli } from "../../core/cli.ts";
import { discoverySetting } from "../../discovery/discovery.ts";
import { failureOf } from "../../discovery/discovery-report.ts";
import { Failure } from "../../../src/std/failure.ts";
import { changeBetween, type AppReading, NOTHING_READ, failedReading } from "./app-reading.ts";
import { AppReader } from "./app-reader.ts";
import type { FileStates } from "./file-states.ts";
import { FileWatcher } from "./file-watcher.ts";
import type { AppChange, LiveApp, LiveEndpoint } from "./live-app.ts";
import { ResidentDiscovery } from "../../discovery/resident-discovery.ts";

/** Editors may empty or rename a file before they write the new one. */
const SAVE_MS = 50;

export type LiveAppOptions = {
  readonly appName: string;
  /** Interpreter, by name or path. */
  readonly python?: string | undefined;
  /** Follows changes of files; otherwise the app stays as it was at the start. */
  readonly reloads: boolean;
};

/**
 * Reads the app, shows its warnings and problems, and follows its files. Throws a Failure when no endpoint is declared
 * or none can be read.
 */
export async function openLiveApp(cli: Cli, options: LiveAppOptions): Promise<LiveApp> {
  const here = { ...cli, directory: await realpath(cli.directory) };
  const setting = await discoverySetting(here, options.python);
  const app = new WatchedApp(here, options, new ResidentDiscovery(setting));
  try {
    await app.open();
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

class WatchedApp implements LiveApp {
  readonly name: string;
  readonly #cli: Cli;
  readonly #discovery: ResidentDiscovery;
  readonly #reader: AppReader;
  readonly #watcher: FileWatcher | undefined;
  readonly #listeners: ((change: AppChange) => void)[] = [];
  #reading: AppReading = NOTHING_READ;
  /** States of the files at the latest reading. */
  #states: FileStates | undefined;
  /** Numbers of readings: the latest requested one, and the latest completed one. */
  #requested = 0;
  #done = 0;
  #work: Promise<void> | undefined;
  #latch = new Latch();
  /** An endpoint has disappeared; the files are read again, since a save may be in progress. */
  #isRechecking = false;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor(cli: Cli, options: LiveAppOptions, discovery: ResidentDiscovery) {
    this.name = options.appName;
    this.#cli = cli;
    this.#discovery = discovery;
    this.#reader = new AppReader(cli, options.appName, discovery);
    if (options.reloads) this.#watcher = this.#watch();
  }

  async open(): Promise<void> {
    const end = (): void => void this.close();
    this.#cli.signal.addEventListener("abort", end, { once: true });
    this.#cli.signal.throwIfAborted();
    this.#read();
    const work = this.#work;
    await Promise.race([work, this.#latch.opened]);
    if (this.#reading === NOTHING_READ) await work;
    this.#cli.signal.throwIfAborted();
    for (const warning of this.#reading.warnings) this.#cli.terminal.warn(warning);
    for (const problem of this.#reading.problems) this.#cli.terminal.fail(problem);
  }

  async endpoints(): Promise<readonly LiveEndpoint[]> {
    if (this.#watcher !== undefined && (await this.#states?.haveChanged())) this.#read();
    await this.#latch.opened;
    return this.#reading.endpoints;
  }

  get problems(): readonly string[] {
    return this.#reading.problems;
  }

  source(sha256: string): string | undefined {
    return this.#reader.source(sha256);
  }

  onChange(listen: (change: AppChange) => void): void {
    this.#listeners.push(listen);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#latch.open();
    this.#watcher?.close();
    this.#closing ??= this.#discovery.close();
    await this.#closing;
  }

  #watch(): FileWatcher {
    return new FileWatcher(
      () => this.#read(),
      (reason) => {
        const line = `Files cannot be watched (${reason}), so changes are detected at the next call.`;
        this.#cli.terminal.warn(line);
      },
    );
  }

  #follow(directories: readonly string[]): boolean {
    return !this.#isClosed && (this.#watcher?.follow(directories) ?? false);
  }

  /** Requests a reading of the current files. */
  #read(): void {
    if (this.#isClosed) return;
    this.#requested += 1;
    this.#latch.close();
    this.#discovery.abandon();
    this.#work ??= this.#readAndOpen();
  }

  async #readAndOpen(): Promise<void> {
    try {
      await this.#readAll();
    } finally {
      this.#work = undefined;
      this.#latch.open();
    }
  }

  async #readAll(): Promise<void> {
    while (this.#done < this.#requested && !this.#isClosed) {
      const requested = this.#requested;
      try {
        if (await this.#readOnce(() => requested === this.#requested)) this.#done = requested;
      } catch (error) {
        // There is no earlier reading to keep.
        if (this.#reading === NOTHING_READ || !isExpected(error)) throw error;
        this.#apply(failedReading(this.#reading, problemOf(error)));
        this.#done = requested;
      }
    }
  }

  /** Answers whether it completed. */
  async #readOnce(isCurrent: () => boolean): Promise<boolean> {
    const snapshot = await this.#reader.scan((directories) => this.#follow(directories), this.#states);
    this.#states = snapshot.states;
    if (!isCurrent()) return false;
    let isDone = false;
    const read = await this.#reader.read(snapshot, this.#reading, (interim) => {
      void interim.then((found) => {
        if (found === undefined || isDone || !isCurrent() || found.reading.endpoints.length === 0) return;
        this.#apply(found.reading);
        this.#latch.open();
      }, isExpected); // The reading itself reports the error.
    });
    isDone = true;
    if (read === undefined || this.#isClosed) return false;
    if (losesSome(this.#reading, read.reading) && !this.#isRechecking) {
      this.#isRechecking = true;
      await setTimeout(SAVE_MS);
      return false;
    }
    this.#isRechecking = false;
    const isNothing = this.#reading === NOTHING_READ && read.reading.endpoints.length === 0;
    if (isNothing) throw failureOf(read.report.errors, "read");
    this.#watcher?.followFiles(this.#reader.others);
    await this.#states.follow(this.#reader.others);
    this.#apply(read.reading);
    return true;
  }

  #apply(reading: AppReading): void {
    const before = this.#reading;
    this.#reading = reading;
    if (before === NOTHING_READ) return;
    const change = changeBetween(before, reading);
    if (change !== undefined) for (const listen of this.#listeners) listen(change);
  }
}

/** Closed while files are being read, opened when endpoints are known. */
class Latch {
  #resolve: (() => void) | undefined;
  #opened: Promise<void> = Promise.resolve();

  get opened(): Promise<void> {
    return this.#opened;
  }

  close(): void {
    if (this.#resolve !== undefined) return;
    this.#opened = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(): void {
    this.#resolve?.();
    this.#resolve = undefined;
  }
}

function losesSome(before: AppReading, after: AppReading): boolean {
  const names = new Set(after.endpoints.map(({ name }) => name));
  return before.endpoints.some(({ name }) => !names.has(name));
}

function isExpected(error: unknown): error is Error {
  return error instanceof Failure || (error instanceof Error && "code" in error);
}

function problemOf(error: Error): string {
  const advice = error instanceof Failure ? error.advice : [];
  return [error.message, ...advice].join("\n");
}
