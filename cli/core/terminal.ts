import type { Palette } from "./palette.ts";

/**
 * The seam between commands and the terminal.
 *
 * T1  With `--json` standard output is one JSON document, with `--watch` one after the other; everything else goes to
 *     standard error.
 * T2  Warnings and failures go to standard error, always.
 * T3  Without a terminal there is no spinner and no bar, but one line for each step that ends.
 * T4  A question without a terminal and without `--yes` is a failure that names `--yes`.
 */
export interface Terminal {
  /** `--json` was given. */
  readonly isJson: boolean;
  /** Questions can be answered: at a terminal, or by `--yes`. */
  readonly canAsk: boolean;
  /** Colours for the lines that are shown. */
  readonly palette: Palette;
  /** A line for the user; the methods below put `✓ ` and the like before it. */
  say(line?: string): void;
  /** The result of the command, to standard output as it is, secrets included. It is not logged. */
  writeResult(text: string): void;
  /** A line about progress; without a terminal it goes to the log only. */
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
  /** Empties the screen, for what is shown again in its own place; false where there is none, and with `--json`. */
  clear(): boolean;
  /** Something that takes time, shown while it runs. */
  step(title: string): Step;
  /** Yes or no; `--yes` answers yes. */
  confirm(question: string): Promise<boolean>;
  /** A string, which `--yes` does not answer; `advice` is shown where there is no terminal. */
  askText(question: string, advice?: string): Promise<string>;
  /** A string that is not shown as it is typed; undefined where there is no terminal. */
  askSecret(question: string): Promise<string | undefined>;
  askMany<Value extends string>(
    question: string,
    choices: readonly { readonly value: Value; readonly label: string }[],
  ): Promise<readonly Value[]>;
}

/** A running step; exactly one of `done`, `warn` and `fail` ends it. */
export interface Step {
  /** What it is doing now. */
  update(detail: string): void;
  /** Progress in bytes. */
  progress(doneBytes: number, totalBytes: number): void;
  done(line: string): void;
  warn(line: string): void;
  /** Shows nothing when the user has cancelled the step. */
  fail(line: string): void;
}

/** Runs `work` as a step; when it fails, the step ends with the line `failed`, and the error is thrown. */
export async function inStep<Result>(
  terminal: Terminal,
  { title, failed }: { readonly title: string; readonly failed: string },
  work: (step: Step) => Promise<Result>,
): Promise<Result> {
  const step = terminal.step(title);
  try {
    return await work(step);
  } catch (error) {
    step.fail(failed);
    throw error;
  }
}
