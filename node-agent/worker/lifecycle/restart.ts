/**
 * What follows when a worker failed: it starts again, later and later while it keeps failing.
 * The first failure may be chance; from the second in a row on the worker is called crash-looping.
 */
import { retryDelayMs } from "../../../src/std/waiting.ts";
import type { Timing } from "../../core/timing.ts";

export type WorkerFailure = {
  readonly kind: "exited" | "start_refused" | "start_limit_exceeded" | "reported_unhealthy" | "fell_silent";
  readonly reason: string;
  readonly lastLine: string | undefined;
};

export type RestartPolicy = {
  readonly baseMs: number;
  readonly capMs: number;
  /** Being ready for so long forgives all earlier failures. */
  readonly healthyMs: number;
};

export type RestartDecision = {
  readonly failuresInRow: number;
  readonly delayMs: number;
  readonly state: "starting" | "unhealthy" | "crash_looping";
  readonly detail: string;
};

const LINE_MAX_LENGTH = 500;

export function restartPolicy({ restartBaseMs, restartCapMs, healthyMs }: Timing): RestartPolicy {
  return { baseMs: restartBaseMs, capMs: restartCapMs, healthyMs };
}

/** How soon a removal that failed is tried again. */
export function removalPolicy({
  restartBaseMs,
  removeRetryCapMs,
}: Timing): Pick<RestartPolicy, "baseMs" | "capMs"> {
  return { baseMs: restartBaseMs, capMs: removeRetryCapMs };
}

/** Decides what a worker that failed now is to do, from its record of failures. */
export function decideRestart(
  failure: WorkerFailure,
  record: { readonly failuresInRow: number; readonly readyForMs: number },
  policy: RestartPolicy,
): RestartDecision {
  const earlier = record.readyForMs >= policy.healthyMs ? 0 : record.failuresInRow;
  const failuresInRow = earlier + 1;
  const delayMs = retryDelayMs(failuresInRow, policy);
  const detail = withRetry(describeFailure(failure), "starts", delayMs);
  return { failuresInRow, delayMs, state: stateAfter(failure, failuresInRow), detail };
}

/** A message for users: why the worker ended, and what it printed last. */
export function describeFailure(failure: { reason: string; lastLine: string | undefined }): string {
  if (!failure.lastLine) return failure.reason;
  return `${failure.reason}; last log line: ${failure.lastLine.slice(0, LINE_MAX_LENGTH)}`;
}

/** The message, with the time of the next attempt. */
export function withRetry(message: string, verb: "starts" | "tries", delayMs: number): string {
  return `${message.replace(/\.$/, "")}; ${verb} again in ${Math.ceil(delayMs / 1_000)} s`;
}

function stateAfter(failure: WorkerFailure, failuresInRow: number): RestartDecision["state"] {
  if (failure.kind === "start_limit_exceeded") return "unhealthy";
  if (failuresInRow > 1) return "crash_looping";
  const isUnhealthy = failure.kind === "reported_unhealthy" || failure.kind === "fell_silent";
  return isUnhealthy ? "unhealthy" : "starting";
}
