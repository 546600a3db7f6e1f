/** How long a worker may take to start, as set by a variable of its template or endpoint. */
import { referencedSecrets } from "../accounts/secret-reference.ts";
import { WORKER_START_LIMIT_MS } from "../../contract/agent/agent.ts";

/** Range that a template may set. */
const WORKER_START_LIMIT_MIN_MS = 1_000;
const WORKER_START_LIMIT_MAX_MS = 24 * 3_600_000;

/** Seconds; images know it by this name. */
export const START_LIMIT_VARIABLE = "RUNPOD_INIT_TIMEOUT";

const SECOND_MS = 1_000;
const [LEAST, MOST] = [WORKER_START_LIMIT_MIN_MS, WORKER_START_LIMIT_MAX_MS].map((ms) => ms / SECOND_MS);

/** In whole ms, always clamped to the bounds; the default where the variable is not a number above 0. */
export function startLimitMs(value: string | undefined): number {
  const ms = Math.round(Number(value) * SECOND_MS);
  if (!(ms > 0)) return WORKER_START_LIMIT_MS;
  return Math.min(Math.max(ms, WORKER_START_LIMIT_MIN_MS), WORKER_START_LIMIT_MAX_MS);
}

/** What is wrong with the variable; undefined if valid. A value that is empty or refers to a secret is not checked. */
export function startLimitIssue(value: string): string | undefined {
  if (value.trim() === "" || referencedSecrets(value).length > 0) return undefined;
  const ms = Number(value) * SECOND_MS;
  const isWithin = ms >= WORKER_START_LIMIT_MIN_MS && ms <= WORKER_START_LIMIT_MAX_MS;
  return isWithin
    ? undefined
    : `${START_LIMIT_VARIABLE} must be a number of seconds from ${LEAST} to ${MOST}`;
}
