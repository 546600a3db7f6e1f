/** A command that a user runs in a worker, beside what the worker itself runs. */
import type { CommandLoss, ExecStart, EXEC_SIGNALS } from "../../../src/tunnel/tunnel-messages.ts";

export type OutputName = "stdout" | "stderr";

export type CommandRequest = Omit<ExecStart, "type"> & {
  /** What it prints; with a terminal all of it as stdout. In one turn of the event loop 64 KB of each at most. */
  readonly onOutput: (name: OutputName, bytes: Uint8Array) => void;
};

export type TerminalSize = { readonly columns: number; readonly rows: number };
export type CommandSignal = (typeof EXEC_SIGNALS)[number];

/** A command could not be started because of what was there for a moment; `message` is for users. */
export class StartLoss extends Error {
  readonly loss: CommandLoss;

  constructor(loss: CommandLoss, message: string, cause?: unknown) {
    super(message, { cause });
    this.loss = loss;
  }
}

/** First process of a command; `namespace` is that of its container, and null for a process of the host. */
export type CommandProcess = {
  readonly pid: number;
  readonly start: string;
  readonly namespace: string | null;
};

export type RunningCommand = {
  /** Null where this process does not see it. */
  readonly process: CommandProcess | null;
  /** Its exit code, after all of its output, or why there is none. Never rejects. */
  readonly exit: Promise<number | CommandLoss>;
  /** Bytes for its standard input; calls `taken` when they use no memory any longer. */
  write(bytes: Uint8Array, taken: () => void): void;
  /** Ends its standard input. */
  end(): void;
  /** Its output waits until `resume`; so it does at the beginning. */
  pause(): void;
  resume(): void;
  /** No-op without a terminal. */
  resize(size: TerminalSize): void;
  /** Signals the command and its process group. */
  signal(signal: CommandSignal): void;
  /** Ends it and all that it has started and that has not left its session. Resolves when nothing is left of it. */
  kill(): Promise<void>;
};
