import type { Cli } from "../core/cli.ts";
import { printable } from "../core/printable.ts";
import type { Step } from "../core/terminal.ts";
import type { CallLine, CallLog } from "./requests/served-app.ts";
import { DisplayOrder, type DisplayedCall } from "./display-order.ts";

/** Shows calls in the terminal, numbered. */
export function openCallLog(cli: Cli): CallLog {
  const order = new DisplayOrder(cli.signal);
  let last = 0;
  return {
    begin: ({ method, path }) => {
      last += 1;
      return new TerminalCall(cli, order.begin(), { number: last, title: `${method} ${path}` });
    },
    between: (show) => {
      const displayed = order.begin();
      displayed.show(show);
      displayed.end();
    },
  };
}

class TerminalCall implements CallLine {
  readonly #cli: Cli;
  readonly #displayed: DisplayedCall;
  readonly #number: string;
  readonly #title: string;
  readonly #startedAt = performance.now();
  readonly #step: Step;
  #isEnded = false;
  #reason: string | undefined;
  #worker: string | undefined;

  constructor(
    cli: Cli,
    displayed: DisplayedCall,
    { number, title }: { readonly number: number; readonly title: string },
  ) {
    this.#cli = cli;
    this.#displayed = displayed;
    this.#number = `#${number}`;
    this.#title = title;
    this.#aside(title);
    this.#step = cli.terminal.step(`${this.#number} ${title}`);
  }

  waiting(reason: string): void {
    // At the end of the command all calls wait for the same reason.
    if (this.#isEnded || reason === this.#reason || this.#cli.signal.aborted) return;
    this.#reason = reason;
    this.#step.update(reason);
    this.#aside(this.#cli.terminal.palette.dim(reason));
  }

  running({ id, gpu }: Parameters<CallLine["running"]>[0]): void {
    if (this.#isEnded || id === this.#worker) return;
    this.#worker = id;
    this.#step.update(`runs on ${id}`);
    this.#aside(this.#cli.terminal.palette.dim(`runs on ${id}${gpu === undefined ? "" : ` (${gpu})`}`));
  }

  printed(line: string): void {
    const { dim } = this.#cli.terminal.palette;
    const text = `${INDENT}${this.#number} ${dim("│")} ${printable(line)}`;
    this.#displayed.show(() => this.#cli.terminal.say(text));
  }

  awaitLog(): () => void {
    return this.#displayed.awaitLog();
  }

  done({ ranMs, queuedMs }: Parameters<CallLine["done"]>[0]): void {
    if (this.#ends()) return;
    const times = [
      duration(ranMs ?? performance.now() - this.#startedAt),
      ...(queuedMs !== undefined && queuedMs >= DISPLAYED_QUEUE_MIN_MS
        ? [`waited ${duration(queuedMs)}`]
        : []),
    ];
    const text = `${this.#head()} ${this.#cli.terminal.palette.dim(`(${times.join(", ")})`)}`;
    this.#displayed.show(() => this.#step.done(text));
    this.#displayed.end();
  }

  fail(reason: string, detail = ""): void {
    if (this.#ends()) return;
    const [first = "", ...rest] = `${reason}\n${detail}`.split("\n").filter((line) => line.trim() !== "");
    // A traceback ends with the message that is already shown above it.
    if (first.startsWith(rest.at(-1) ?? first)) rest.pop();
    const below = rest.map((line) => `\n${INDENT}${printable(line)}`).join("");
    const text = `${this.#head()}: ${printable(first)}${below}`;
    this.#displayed.show(() => this.#step.fail(text));
    this.#displayed.end();
  }

  /** Marks the call as ended; returns whether it had ended before. */
  #ends(): boolean {
    const hadEnded = this.#isEnded;
    this.#isEnded = true;
    return hadEnded;
  }

  #aside(text: string): void {
    const line = `  ${clock()} ${this.#number} ${text}`;
    this.#displayed.show(() => this.#cli.terminal.aside(line));
  }

  #head(): string {
    return `${clock()} ${this.#number} ${this.#title}`;
  }
}

/** As wide as mark and time before the lines of a call. */
const INDENT = " ".repeat("✓ 00:00:00 ".length);
const DISPLAYED_QUEUE_MIN_MS = 100;

function clock(): string {
  return new Date().toTimeString().slice(0, "00:00:00".length);
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
