import type { Palette } from "./palette.ts";

/**
 * The seam between commands and the terminal.
 *
 * T1  With `--json` standard output is one JSON document; everything else goes to standard error.
 * T2  Warnings and failures go to standard error, always.
 * T3  Without a terminal nothing moves: no spinner, no bar, one line for each step that ends.
 * T4  A question without a terminal and without `--yes` is a failure that names `--yes`.
 */
export interface Terminal {
  /** `--json` was given. */
  readonly isJson: boolean;
  /** There is somebody to ask, or `--yes` was given. */
  readonly canAsk: boolean;
  /** Colours for the lines below, where there are any. */
  readonly palette: Palette;
  /** A line for the person; `✓ ` and the like are put before it by the methods below. */
  say(line?: string): void;
  /** What the command is run for, to standard output as it is: a secret too. The log has nothing of it. */
  writeResult(text: string): void;
  /** A line for who watches as it comes; without a terminal it goes to the log alone. */
  aside(line: string): void;
  /** ✓ green. */
  done(line: string): void;
  /** ! yellow. */
  warn(line: string): void;
  /** ✗ red. */
  fail(line: string): void;
  /** The one document of `--json`; nothing without it. */
  json(document: unknown): void;
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Something that takes time, shown while it lasts. */
  step(title: string): Step;
  /** Yes or no; `--yes` answers yes. */
  confirm(question: string): Promise<boolean>;
  /** A text, which `--yes` does not answer; the advice is for where there is no terminal. */
  askText(question: string, advice?: string): Promise<string>;
  askMany<Value extends string>(
    question: string,
    choices: readonly { readonly value: Value; readonly label: string }[],
  ): Promise<readonly Value[]>;
}

/** A step under way; exactly one of `done` and `fail` ends it. */
export interface Step {
  /** What is going on within it. */
  update(detail: string): void;
  /** How far it is, of a total, in bytes. */
  progress(doneBytes: number, totalBytes: number): void;
  done(line: string): void;
  /** Says nothing when the person has cancelled it. */
  fail(line: string): void;
}
