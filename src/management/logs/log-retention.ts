/** How long logs are kept. */
import { LOG_RETENTION_DAYS_DEFAULT, LOG_RETENTION_DAYS_MAX } from "../../contract/limits.ts";
import type { Env } from "../../env.ts";

/** Lines of a later time are not kept. */
export const LOG_AHEAD_MAX_MS = 60_000;

/** LOG_RETENTION_DAYS, if it is a number of days that makes sense. */
export function logRetentionDays({ LOG_RETENTION_DAYS }: Pick<Env, "LOG_RETENTION_DAYS">): number {
  const days = Number(LOG_RETENTION_DAYS ?? Number.NaN);
  if (!Number.isInteger(days) || days < 1) return LOG_RETENTION_DAYS_DEFAULT;
  return Math.min(days, LOG_RETENTION_DAYS_MAX);
}
