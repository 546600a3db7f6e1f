/** A project in a directory of its own, and the live app of it, as a person who edits it sees it. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { Cli } from "../../../cli/core/cli.ts";
import type { AppChange, LiveApp, LiveEndpoint } from "../../../cli/dev/app/live-app.ts";
import { openLiveApp } from "../../../cli/dev/app/watched-app.ts";
import { sdkDirectory } from "../../../cli/discovery/interpreter.ts";
import { ConsoleTerminal } from "../../../cli/terminal/console-terminal.ts";

export type Files = Readonly<Record<string, string>>;

/** A worker of one function; what it returns is its code. */
export function worker(name: string, returned = "1", options = ""): string {
  return `from edgerun import Endpoint

@Endpoint(name="${name}", cpu="cpu3c-1-2"${options})
def ${name}(x: int = 0):
    return ${returned}
`;
}

export class LiveProject implements AsyncDisposable {
  readonly directory: string;
  readonly #opened: LiveApp[] = [];
  readonly #output = new PassThrough();
  readonly #shown = text(this.#output);
  readonly #interruption = new AbortController();

  constructor(files: Files) {
    this.directory = realpathSync(mkdtempSync(join(tmpdir(), "edgerun-live-")));
    this.write(files);
  }

  async open(options: { readonly reloads?: boolean } = {}): Promise<OpenedApp> {
    const app = await openLiveApp(this.#cli(), { appName: "shop", reloads: true, ...options });
    this.#opened.push(app);
    return new OpenedApp(app);
  }

  write(files: Files): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.directory, path)), { recursive: true });
      writeFileSync(join(this.directory, path), content);
    }
  }

  writeBytes(path: string, content: Uint8Array): void {
    writeFileSync(join(this.directory, path), content);
  }

  /** Resolves when a file is there. */
  async hasGot(path: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const watcher = watch(this.directory, () => look());
      const look = (): void => {
        if (!existsSync(join(this.directory, path))) return;
        watcher.close();
        resolve();
      };
      look();
    });
  }

  rename(from: string, to: string): void {
    renameSync(join(this.directory, from), join(this.directory, to));
  }

  remove(path: string): void {
    rmSync(join(this.directory, path), { recursive: true });
  }

  interrupt(): void {
    this.#interruption.abort(new Error("Ctrl+C"));
  }

  /** All that the person has been shown; ends the terminal. */
  async shown(): Promise<string> {
    this.#output.end();
    return await this.#shown;
  }

  /** Ids of processes that work in the project. */
  processes(): readonly number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && this.#isWorkingHere(name))
      .map(Number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const app of this.#opened) await app.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #isWorkingHere(id: string): boolean {
    try {
      return readlinkSync(`/proc/${id}/cwd`) === this.directory;
    } catch {
      return false; // It has ended meanwhile.
    }
  }

  #cli(): Cli {
    const { VIRTUAL_ENV: _, FLASH_PYTHON: __, ...environment } = process.env;
    const { signal } = this.#interruption;
    const streams = { input: new PassThrough(), output: this.#output, errors: this.#output };
    const terminal = new ConsoleTerminal({
      streams,
      environment: {},
      signal,
      redact: (line) => line,
      log: () => {},
    });
    return {
      directory: this.directory,
      environment: { ...environment, PYTHONPATH: sdkDirectory() },
      terminal,
      signal,
    };
  }
}

export class OpenedApp {
  readonly app: LiveApp;
  readonly #changes: AppChange[] = [];
  #listen: () => void = () => {};

  constructor(app: LiveApp) {
    this.app = app;
    app.onChange((change) => {
      this.#changes.push(change);
      this.#listen();
    });
  }

  /** The next change that nobody has asked for yet. */
  async change(): Promise<AppChange> {
    for (;;) {
      const change = this.#changes.shift();
      if (change !== undefined) return change;
      await new Promise<void>((resolve) => {
        this.#listen = resolve;
      });
    }
  }

  /** What has changed until now was asked for. */
  forgetChanges(): void {
    this.#changes.length = 0;
  }

  async endpoint(name: string): Promise<LiveEndpoint> {
    const endpoints = await this.app.endpoints();
    const found = endpoints.find((endpoint) => endpoint.name === name);
    if (found === undefined)
      throw new Error(`no ${name} among ${endpoints.map((one) => one.name).join(", ")}`);
    return found;
  }

  async names(): Promise<readonly string[]> {
    return (await this.app.endpoints()).map(({ name }) => name);
  }

  /** Text of a file that an endpoint's code has. */
  async sent(name: string, path = `${name}.py`): Promise<string | undefined> {
    return this.app.source((await this.endpoint(name)).code.modules[path] ?? "");
  }
}
