/** Lists as tables for people, JSON for programs, or ids alone; once, or again and again. */
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { ServiceFailure } from "../service/service.ts";

/** By title; `now` is for times relative to it. */
export type Columns<Row> = Readonly<Record<string, (row: Row, now: number) => string>>;

export type ListFormat = "table" | "json" | "id";

export type ListOptions = {
  readonly watch?: boolean;
  readonly format?: ListFormat;
};

export type List<Row> = {
  readonly read: () => Promise<{
    readonly rows: readonly Row[];
    readonly document: unknown;
    /** A line below the table. */
    readonly note?: string | undefined;
  }>;
  readonly columns: Columns<Row>;
  /** Said where there are none. */
  readonly none: string;
};

/** Between two readings of a list that is watched. */
const WATCH_PAUSE_MS = 2_000;

export async function showList<Row extends { readonly id?: string }>(
  cli: Cli,
  { watch, format }: ListOptions,
  list: List<Row>,
): Promise<void> {
  const showOnce = async (): Promise<() => void> => {
    const { rows, document, note } = await list.read();
    return () => {
      if (format === "id") return showIds(cli, rows);
      if (cli.terminal.isJson) return cli.terminal.json(document);
      if (rows.length === 0) return cli.terminal.say(list.none);
      const now = Date.now();
      const columns = Object.values(list.columns);
      cli.terminal.table(
        Object.keys(list.columns),
        rows.map((row) => columns.map((column) => column(row, now))),
      );
      if (note !== undefined) cli.terminal.say(note);
    };
  };
  const show = await showOnce();
  if (watch !== true) return show();
  await watching(cli, show, showOnce);
}

function showIds(cli: Cli, rows: readonly { readonly id?: string }[]): void {
  for (const { id } of rows) if (id !== undefined) cli.terminal.writeResult(id);
}

/** Shows it again until Ctrl+C, at a terminal in its own place; a service that is away for a while ends nothing. */
export async function watching(
  cli: Cli,
  first: () => void,
  readAgain: () => Promise<() => void>,
): Promise<never> {
  let show = first;
  while (true) {
    cli.terminal.clear();
    show();
    await delay(WATCH_PAUSE_MS, undefined, { signal: cli.signal });
    show = await readAgain().catch((error: unknown) => {
      cli.signal.throwIfAborted();
      if (!(error instanceof Failure) || error instanceof ServiceFailure) throw error;
      return () => cli.terminal.warn(`${error.message} Trying again.`);
    });
  }
}
