import type { Readable, Writable } from "node:stream";
import Table from "cli-table3";
import prettyBytes from "pretty-bytes";
import { CLEAR, StatusLine } from "./status-line.ts";
import { isInteractive, type Palette, paletteOf } from "../core/palette.ts";
import { printable } from "../core/printable.ts";
import { Prompter } from "./prompter.ts";
import type { Step, Terminal } from "../core/terminal.ts";

const BAR_WIDTH = 24;
/** Columns two spaces apart, without lines, so that programs can parse them too. */
const NO_LINES = Object.fromEntries(
  ["top", "bottom", "left", "right", "mid"].flatMap((side) =>
    ["", "-mid", "-left", "-right"].map((corner) => [side + corner, ""]),
  ),
);

const CLEAR_SCREEN = "\u001B[H\u001B[2J";

export type Streams = { readonly input: Readable; readonly output: Writable; readonly errors: Writable };

export type TerminalSettings = {
  readonly streams: Streams;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Redacts secrets in what is shown. */
  readonly redact: (text: string) => string;
  /** Receives every line that is shown. */
  readonly log: (line: string) => void;
};

export type TerminalOptions = { readonly isJson: boolean; readonly isYes: boolean };

export class ConsoleTerminal implements Terminal {
  readonly #settings: TerminalSettings;
  readonly #statusLines = new Map<Writable, StatusLine>();
  #options: TerminalOptions = { isJson: false, isYes: false };

  constructor(settings: TerminalSettings) {
    this.#settings = settings;
    settings.signal.addEventListener("abort", () => this.#wipeLine(), { once: true });
  }

  get isJson(): boolean {
    return this.#options.isJson;
  }

  get canAsk(): boolean {
    return this.#options.isYes || this.#prompter().isPossible;
  }

  get palette(): Palette {
    return paletteOf(this.#messageStream, this.#settings.environment);
  }

  /** Applies the options of the command line, once they are parsed. */
  configure(options: TerminalOptions): void {
    this.#options = options;
  }

  say(line = ""): void {
    this.#write(this.#messageStream, line);
  }

  writeResult(text: string): void {
    this.#settings.streams.output.write(`${text}\n`);
  }

  aside(line: string): void {
    if (isInteractive(this.#messageStream, this.#settings.environment)) this.say(line);
    else this.#settings.log(this.#settings.redact(line));
  }

  done(line: string): void {
    this.#write(this.#messageStream, `${this.palette.green("✓")} ${line}`);
  }

  warn(line: string): void {
    this.#write(this.#errors, `${this.#errorPalette.yellow("!")} ${line}`);
  }

  fail(line: string): void {
    this.#write(this.#errors, `${this.#errorPalette.red("✗")} ${line}`);
  }

  /** How to solve a failure, below its message. */
  advise(line: string): void {
    this.#write(this.#errors, `  ${line}`);
  }

  json(document: unknown): void {
    if (this.isJson) this.#write(this.#settings.streams.output, JSON.stringify(document, null, 2));
  }

  table(head: readonly string[], rows: readonly (readonly string[])[]): void {
    const { bold } = this.palette;
    const table = new Table({
      head: head.map((title) => bold(title)),
      chars: { ...NO_LINES, middle: "  " },
      style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    });
    table.push(...rows.map((row) => row.map(printable)));
    for (const line of table.toString().split("\n")) this.say(line.trimEnd());
  }

  clear(): boolean {
    const hasScreen = !this.isJson && isInteractive(this.#messageStream, this.#settings.environment);
    if (hasScreen) this.#messageStream.write(CLEAR_SCREEN);
    return hasScreen;
  }

  step(title: string): Step {
    const line = this.#statusLine();
    const owner = {};
    const show = (text: string): void => line?.show(owner, this.#settings.redact(text));
    show(title);
    return {
      update: (detail) => show(`${title} ${this.palette.dim(detail)}`),
      progress: (doneBytes, totalBytes) => show(`${title} ${bar(doneBytes, totalBytes)}`),
      done: (text) => {
        line?.hide(owner);
        this.done(text);
      },
      warn: (text) => {
        line?.hide(owner);
        this.warn(text);
      },
      fail: (text) => {
        line?.hide(owner);
        if (!this.#settings.signal.aborted) this.fail(text);
      },
    };
  }

  async confirm(question: string): Promise<boolean> {
    if (this.#options.isYes) return true;
    return await this.#prompter().confirm(question);
  }

  async askText(question: string, advice?: string): Promise<string> {
    return await this.#prompter().text(question, advice);
  }

  async askSecret(question: string): Promise<string | undefined> {
    const prompter = this.#prompter();
    if (!prompter.isPossible) return undefined;
    // A running step would draw over the question; its next update shows it again.
    this.close();
    return await prompter.secret(question);
  }

  async askMany<Value extends string>(
    question: string,
    choices: readonly { readonly value: Value; readonly label: string }[],
  ): Promise<readonly Value[]> {
    return await this.#prompter().many(question, choices);
  }

  /** Restores the terminal. */
  close(): void {
    for (const line of this.#statusLines.values()) line.end();
  }

  /** The stream for lines that users read. */
  get #messageStream(): Writable {
    return this.isJson ? this.#errors : this.#settings.streams.output;
  }

  get #errors(): Writable {
    return this.#settings.streams.errors;
  }

  get #errorPalette(): Palette {
    return paletteOf(this.#errors, this.#settings.environment);
  }

  /** Clears the ^C that the terminal has printed. */
  #wipeLine(): void {
    if (isInteractive(this.#messageStream, this.#settings.environment)) this.#messageStream.write(CLEAR);
  }

  #prompter(): Prompter {
    const { streams, environment, signal } = this.#settings;
    return new Prompter({ input: streams.input, output: this.#messageStream, environment, signal });
  }

  #statusLine(): StatusLine | undefined {
    const stream = this.#messageStream;
    if (!isInteractive(stream, this.#settings.environment)) return undefined;
    const line = this.#statusLines.get(stream) ?? new StatusLine(stream);
    this.#statusLines.set(stream, line);
    return line;
  }

  #write(stream: Writable, line: string): void {
    const text = this.#settings.redact(line);
    this.#settings.log(text);
    const write = (): void => void stream.write(`${text}\n`);
    // Both streams usually end in the same terminal.
    const [moving] = this.#statusLines.values();
    if (moving) moving.around(write);
    else write();
  }
}

function bar(doneBytes: number, totalBytes: number): string {
  const fraction = totalBytes > 0 ? Math.min(1, doneBytes / totalBytes) : 1;
  const full = Math.round(fraction * BAR_WIDTH);
  const size = `${prettyBytes(doneBytes)} of ${prettyBytes(totalBytes)}`;
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${Math.floor(fraction * 100)} %, ${size}`;
}
