/** Why a container that did not exit by itself was ended as a failure, in words for people. */
import type { LifeEnd } from "./worker-life.ts";
import type { Failure } from "./restart.ts";

export type FailureLimits = { readonly startLimitMs: number; readonly silenceLimitMs: number };

/** Results in a row that a worker may fail to post before its container is replaced. */
export const LOST_RESULTS_MAX = 3;

/** The failure that an end stands for; null when it is none, or when only its exit tells. */
export function failureOf(end: LifeEnd | null, limits: FailureLimits): Omit<Failure, "lastLine"> | null {
  if (end === "start_limit") {
    const reason = `did not ask for a job within ${seconds(limits.startLimitMs)} of its start`;
    return { kind: "start_limit_exceeded", reason };
  }
  if (end === "silent") {
    const reason = `took jobs, but has asked for none for ${seconds(limits.silenceLimitMs)} though it had none: its loop has ended, its process has not`;
    return { kind: "fell_silent", reason };
  }
  if (end === "mute") {
    const reason = `posted no result for ${LOST_RESULTS_MAX} jobs one after the other; either its results cannot be encoded as JSON, or they do not get through to the agent`;
    return { kind: "fell_silent", reason };
  }
  return null;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
