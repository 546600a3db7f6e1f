/** Discovery that stays loaded, so that reading an app again takes milliseconds. */
import { createInterface } from "node:readline";
import { execa } from "execa";
import { type DiscoverySetting, IMPORT_LIMIT_SECONDS, parseReport } from "./discovery.ts";
import { runDiscovery, BOOTSTRAP, IS_POSIX, ProcessGroup } from "./discovery-process.ts";
import { type LiveReport, liveReportSchema } from "./discovery-report.ts";
import { Failure } from "../../src/std/failure.ts";

/** A process that was killed is started again once per request. */
const ATTEMPTS = 2;

export class ResidentDiscovery {
  readonly #setting: DiscoverySetting;
  readonly #interruption = new AbortController();
  #process: ResidentProcess | undefined;
  #latestId = 0;

  constructor(setting: DiscoverySetting) {
    this.#setting = setting;
  }

  /**
   * Reads the project's files. Returns undefined if a later request or `close` came meanwhile; `onInterim` receives
   * reports while slow files are still being imported.
   */
  async read(
    files: readonly string[],
    onInterim: (report: LiveReport) => void,
  ): Promise<LiveReport | undefined> {
    this.#latestId += 1;
    const question = { id: this.#latestId, json: this.#request(this.#latestId, files) };
    if (!IS_POSIX) return await this.#readOnce(question);
    for (let attempt = 1; attempt <= ATTEMPTS && this.#isCurrent(question.id); attempt += 1) {
      this.#process ??= new ResidentProcess(this.#setting);
      const answer = await this.#process.ask(question, onInterim);
      if (answer.kind === "report") return answer.report;
      if (answer.kind === "ended") this.#process = undefined;
    }
    if (!this.#isCurrent(question.id)) return undefined;
    throw new Failure(`${this.#setting.interpreter} could not read the app's declarations.`, [
      "The process that reads them ended twice. It may have been killed, or its package edgerun is not compatible with this command.",
    ]);
  }

  /** Drops the current request. */
  abandon(): void {
    this.#latestId += 1;
    this.#process?.abandon();
  }

  async close(): Promise<void> {
    this.#latestId += 1;
    this.#interruption.abort();
    const process = this.#process;
    this.#process = undefined;
    await process?.end();
  }

  #isCurrent(id: number): boolean {
    return id === this.#latestId && !this.#interruption.signal.aborted;
  }

  #request(id: number, files: readonly string[]): string {
    const root = this.#setting.directory;
    return JSON.stringify({ id, root, files, timeoutSeconds: IMPORT_LIMIT_SECONDS });
  }

  /** For Windows, where Python inherits no descriptors and cannot select on pipes. */
  async #readOnce({ id, json }: Question): Promise<LiveReport | undefined> {
    const answer = await runDiscovery({
      ...this.#setting,
      request: JSON.parse(json),
      signal: this.#interruption.signal,
      options: ["--live"],
    });
    const report = parseReport(liveReportSchema, this.#setting.interpreter, answer);
    return this.#isCurrent(id) ? report : undefined;
  }
}

type Question = { readonly id: number; readonly json: string };

type Answer =
  | { readonly kind: "report"; readonly report: LiveReport }
  /** A newer request came. */
  | { readonly kind: "superseded" }
  | { readonly kind: "ended" };

type PendingQuestion = {
  readonly id: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  readonly onInterim: (report: LiveReport) => void;
};

/** One process. It ends with all of its children when its standard input ends. */
class ResidentProcess {
  readonly #interpreter: string;
  readonly #child: ReturnType<typeof start>;
  readonly #group: ProcessGroup;
  readonly #ended: Promise<void>;
  #hasEnded = false;
  #waiting: PendingQuestion | undefined;

  constructor(setting: DiscoverySetting) {
    this.#interpreter = setting.interpreter;
    this.#child = start(setting);
    this.#group = new ProcessGroup(this.#child);
    // It may have ended before a request is written.
    this.#child.stdin.on("error", () => {});
    createInterface({ input: this.#child.stdio[3] }).on("line", (line) => this.#onLine(line));
    this.#ended = this.#watch();
  }

  async ask(question: Question, onInterim: PendingQuestion["onInterim"]): Promise<Answer> {
    this.abandon();
    if (this.#hasEnded) return { kind: "ended" };
    return await new Promise((resolve, reject) => {
      this.#waiting = { id: question.id, resolve, reject, onInterim };
      this.#child.stdin.write(`${question.json}\n`);
    });
  }

  abandon(): void {
    this.#settle({ kind: "superseded" });
  }

  async end(): Promise<void> {
    this.abandon();
    this.#group.end();
    await this.#ended;
  }

  async #watch(): Promise<void> {
    await this.#child;
    this.#hasEnded = true;
    // It may have been killed while its child was importing.
    this.#group.end();
    this.#group.forget();
    this.#settle({ kind: "ended" });
  }

  #onLine(line: string): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    try {
      const report = parseReport(liveReportSchema, this.#interpreter, line);
      if (report.id !== waiting.id) return;
      if (report.isInterim) waiting.onInterim(report);
      else this.#settle({ kind: "report", report });
    } catch (error) {
      this.#waiting = undefined;
      waiting.reject(error);
    }
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }
}

function start({ interpreter, directory, environment }: DiscoverySetting) {
  return execa(interpreter, ["-X", "utf8", "-c", BOOTSTRAP, "--stays"], {
    cwd: directory,
    env: environment,
    extendEnv: false,
    stdio: ["pipe", 2, 2, "pipe"],
    buffer: false,
    detached: true,
    reject: false,
  });
}
