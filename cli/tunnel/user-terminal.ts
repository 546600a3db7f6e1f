/** The user's terminal while a command in a container has it: its keys, its size, and what is shown. */
import { execaSync } from "execa";
import { ignoreFailure } from "../../src/std/errors.ts";
import { EscapeSequence } from "./escape.ts";
import type { RemoteCommand, TerminalSize } from "./remote-command.ts";
import { ScreenModes } from "./screen-modes.ts";

const DEFAULT_SIZE: TerminalSize = { columns: 80, rows: 24 };
/** Of the contract of tunnels. */
const SIZE_MAX = 1_000;
const TYPE_MAX_LENGTH = 64;

export class UserTerminal {
  readonly #type: string | undefined;
  readonly #modes = new ScreenModes();
  #restore: (() => void) | undefined;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#type = environment["TERM"]?.slice(0, TYPE_MAX_LENGTH) || undefined;
  }

  /** What a command needs to know of it. */
  get description(): TerminalSize & { readonly type?: string } {
    return { ...windowSize(), ...(this.#type !== undefined && { type: this.#type }) };
  }

  show(bytes: Uint8Array, shown: () => void): void {
    this.#modes.see(bytes);
    process.stdout.write(bytes, shown);
  }

  /** Gives it to a command until `restore`; `onEscape` is called when the user types Enter `~` `.`. */
  give(remote: RemoteCommand, onEscape: () => void): void {
    const { stdin, stdout } = process;
    const stopKeys = sendKeys(remote, onEscape);
    const resize = (): void => remote.resize(windowSize());
    stdout.on("resize", resize);
    if (stdin.isTTY) enterRawMode();
    this.#restore = () => {
      if (stdin.isTTY) stdin.setRawMode(false);
      stopKeys();
      stdout.off("resize", resize);
    };
    // The window may have changed since the command was started.
    resize();
  }

  /** `isCutOff`: the command could not turn off what it had turned on. */
  restore({ isCutOff = false } = {}): void {
    if (isCutOff && process.stdout.isTTY) process.stdout.write(`${this.#modes.reset}\r\n`);
    this.#restore?.();
    this.#restore = undefined;
  }
}

/** Node leaves the processing of output on, which changes what programs of a whole screen draw. */
function enterRawMode(): void {
  process.stdin.setRawMode(true);
  execaSync("stty", ["-opost"], { stdin: "inherit", stdout: "ignore", stderr: "ignore", reject: false }); // absent on Windows
}

/** Returns what stops it. */
function sendKeys(remote: RemoteCommand, onEscape: () => void): () => void {
  const { stdin } = process;
  const escape = new EscapeSequence();
  const onKeys = (typed: Buffer): void => {
    const { bytes, isEnd } = stdin.isTTY ? escape.type(typed) : { bytes: typed, isEnd: false };
    if (isEnd) return onEscape();
    stdin.pause();
    remote.write(bytes).then(() => stdin.resume(), ignoreFailure);
  };
  const onEnd = (): void => remote.end();
  stdin.on("data", onKeys).once("end", onEnd);
  return () => {
    stdin.off("data", onKeys).off("end", onEnd).pause();
  };
}

function windowSize(): TerminalSize {
  const { columns, rows } = process.stdout.isTTY ? process.stdout : DEFAULT_SIZE;
  return {
    columns: Math.min(SIZE_MAX, columns || DEFAULT_SIZE.columns),
    rows: Math.min(SIZE_MAX, rows || DEFAULT_SIZE.rows),
  };
}
