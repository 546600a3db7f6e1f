import { type Command, InvalidArgumentError } from "commander";

/** Longer than a worker may take to start. */
const TIMEOUT_SECONDS = 600;

export type WaitFlags = { readonly wait: boolean; readonly timeout: number };

/** The options of a command that waits for workers. */
export function addWaitOptions(command: Command): Command {
  return command
    .option("--no-wait", "do not wait until workers are ready")
    .option("--timeout <seconds>", "how long to wait for them", readSeconds, TIMEOUT_SECONDS);
}

/** 0 where nothing is waited for. */
export function waitLimitOf({ wait, timeout }: WaitFlags): number {
  return wait ? timeout : 0;
}

/** Throws where it is no whole number above 0. */
export function readSeconds(value: string): number {
  const seconds = Number(value);
  if (Number.isInteger(seconds) && seconds > 0) return seconds;
  throw new InvalidArgumentError("It must be a whole number of seconds above 0.");
}
