/** The header with which a client requests the worker of an earlier answer. */
import { idSchema } from "../../contract/agent/agent.ts";
import type { Affinity } from "../../forwarding/messages.ts";
import { ServiceError } from "../../contract/errors.ts";
import { AFFINITY_HEADER } from "./headers.ts";

/** How long a request waits for a worker, and one that asks for a certain worker. */
export const LOAD_BALANCED_WAIT_MS = 2 * 60_000;
export const LOAD_BALANCED_STRICT_WAIT_MS = 5 * 60_000;

const MODES: ReadonlyMap<string, Affinity["mode"]> = new Map([
  ["strict", "strict"],
  ["strict-resume", "resume"],
]);

/** Null without the header. */
export function readAffinity(headers: Headers): Affinity | null {
  const tokens = (headers.get(AFFINITY_HEADER) ?? "").trim().split(/\s+/);
  const [first = "", second] = tokens;
  if (first === "") return null;
  const mode = MODES.get(first);
  const workerId = mode === undefined ? first : (second ?? "");
  const isTooLong = tokens.length > (mode === undefined ? 1 : 2);
  if (isTooLong || !idSchema.safeParse(workerId).success) {
    throw new ServiceError(
      "invalid_input",
      `${AFFINITY_HEADER} must be '<worker id>', 'strict <worker id>' or 'strict-resume <worker id>'. ` +
        "Leave it out to get any worker.",
    );
  }
  return { mode: mode ?? "soft", workerId };
}

/** As query parameters of the endpoint's object; none for null. */
export function writeAffinity(affinity: Affinity | null): Record<string, string> {
  return affinity ? { affinity: `${affinity.mode}:${affinity.workerId}` } : {};
}

/** How long a request waits for a worker. */
export function waitLimitMs(affinity: Affinity | null): number {
  return affinity === null || affinity.mode === "soft" ? LOAD_BALANCED_WAIT_MS : LOAD_BALANCED_STRICT_WAIT_MS;
}
