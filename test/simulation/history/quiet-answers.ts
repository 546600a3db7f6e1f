/** Answers that nothing justifies in a history without faults. */
import type { AnsweredCall, Answer } from "./client.ts";

/**
 * Operations of the queue API that clients call more often than they may: those with low limits, and those of which
 * clients with bursts try the limits. Of all others no history makes as many calls as an endpoint takes.
 */
const LIMITED = new Set([
  "purge-queue", // 2 within ten seconds
  "requests", // 10
  "cancel", // 100, as the next ones
  "retry",
  "webhooks",
  "batch",
  "status", // 400 at once
]);

/** Pods for which no host has a place are refused so, as docs/reference/rest-api.md says. */
const NO_PLACE = '"code":"no_capacity"';

/** What is wrong with an answer, if something is: the edge has not failed, and no limit was reached. */
export function unjustified({ what, received }: AnsweredCall, { status }: Answer): string | undefined {
  const isLimited = LIMITED.has(/\/v2\/[^/]+\/([^/?]+)/.exec(what)?.[1] ?? "");
  if (status < 500 && (status !== 429 || isLimited)) return undefined;
  if (status === 503 && what.includes(" /v1/pods") && received.includes(NO_PLACE)) return undefined;
  return `${what} got ${status} without a fault: ${received}`;
}
