/** A command that runs until it is ended, such as `flash dev`. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

type Options = { readonly cwd: string; readonly env: Readonly<Record<string, string>> };

export class RunningCommand implements AsyncDisposable {
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #over: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  #output = "";
  #isOver = false;

  /** `file` is run without a shell, so that signals reach it alone. */
  constructor(file: string, args: readonly string[], { cwd, env }: Options) {
    this.#process = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#notify();
      });
    }
    // What it has started may hold its pipes longer than it lives.
    this.#over = once(this.#process, "exit").then(() => {
      this.#isOver = true;
      this.#notify();
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** All that it has printed. */
  get output(): string {
    return this.#output;
  }

  /** Waits until it has printed this, from `offset` of its output on; throws when it ends before. */
  async printed(pattern: RegExp, offset = 0): Promise<RegExpExecArray> {
    while (true) {
      const found = pattern.exec(this.#output.slice(offset));
      if (found) return found;
      if (this.#isOver) throw new Error(`It ended before it printed ${pattern}:\n${this.#output}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Sends a signal and waits for its end; the exit code, or nothing when the signal has ended it. */
  async end(signal: NodeJS.Signals): Promise<number | undefined> {
    this.#process.kill(signal);
    return await this.over();
  }

  /** Waits for it to end by itself. */
  async over(): Promise<number | undefined> {
    await this.#over;
    return this.#process.exitCode ?? undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) await this.end("SIGKILL");
  }

  #notify(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
