import { constants } from "node:os";

/** A process that a signal ended has this plus the signal's number as its exit code, as in a shell. */
const SIGNAL_EXIT_BASE = 128;

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

export type Ending = {
  readonly exitCode: number | null;
  readonly isOutOfMemory?: boolean;
  /** There was nothing left of it to look at. */
  readonly isRemoved?: boolean;
  /** 0 if the worker has no limit of its own. */
  readonly memoryLimitBytes?: number;
};

const MEGABYTE = 1024 * 1024;

/** Describes in one sentence how a worker ended. */
export function exitReason({ isRemoved, ...ending }: Ending): string {
  const reason = reasonOf(ending);
  return isRemoved ? `${reason}; its container was removed from outside` : reason;
}

function reasonOf({ exitCode, isOutOfMemory, memoryLimitBytes = 0 }: Omit<Ending, "isRemoved">): string {
  const codeText = exitCode === null ? "exit code unknown" : `exit code ${exitCode}`;
  const limit = memoryLimitBytes > 0 ? ` (it may have ${Math.round(memoryLimitBytes / MEGABYTE)} MB)` : "";
  if (isOutOfMemory) return `ran out of memory${limit} and was killed (${codeText})`;
  if (exitCode === null) return "ended, exit code unknown";
  const signalName = SIGNAL_NAMES.get(exitCode - SIGNAL_EXIT_BASE);
  if (signalName) return `killed by signal ${signalName} (${codeText})`;
  if (exitCode === 126) return "exited with code 126: the command can not be executed";
  if (exitCode === 127) return "exited with code 127: the command was not found";
  if (exitCode === 0) return "exited with code 0: its start command came to its end";
  return `exited with code ${exitCode}`;
}

/** Exit code of a process that a signal ended. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_EXIT_BASE + constants.signals[signal];
}
