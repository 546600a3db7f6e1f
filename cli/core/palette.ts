import type { Writable } from "node:stream";
import picocolors from "picocolors";

export type Palette = ReturnType<typeof picocolors.createColors>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Colours where the stream is a terminal, unless NO_COLOR or FORCE_COLOR decide. */
export function paletteOf(stream: Writable, environment: Environment): Palette {
  return picocolors.createColors(hasColours(stream, environment));
}

function hasColours(stream: Writable, environment: Environment): boolean {
  if (isSet(environment["NO_COLOR"])) return false;
  const forced = environment["FORCE_COLOR"];
  if (isSet(forced)) return forced !== "0" && forced !== "false";
  return isTerminal(stream) && environment["TERM"] !== "dumb";
}

/** False in CI, where nothing may move and no question can be answered. */
export function isInteractive(stream: Writable, environment: Environment): boolean {
  return isTerminal(stream) && environment["TERM"] !== "dumb" && !isSet(environment["CI"]);
}

function isTerminal(stream: Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
