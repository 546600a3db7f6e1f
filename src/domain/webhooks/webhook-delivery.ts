/**
 * A delivery: the notification that a job has ended, from the job's end to its success or to its last attempt.
 *
 * D1  An attempt succeeds by an answer of 200..299, and by nothing else.
 * D2  A failed attempt is followed by another one no sooner than WEBHOOK_RETRY_MS after it ended, up to
 *     WEBHOOK_ATTEMPTS in all. A redelivery begins a new count.
 * D3  A delivery names one end of a job, by the count of retries that the job had then. Every end but the first
 *     comes after a retry, so no two ends of a job have the same count.
 */

/** Calls of a receiver for one delivery, the first included. */
export const WEBHOOK_ATTEMPTS = 3;
/** Time from the end of a failed attempt to the next one. */
export const WEBHOOK_RETRY_MS = 10_000;
/** Attempts of one delivery that are stored; only redeliveries make more. */
export const WEBHOOK_LOG_MAX = 12;

/** One call of the receiver. A call that got an answer has its status; `error` states what was wrong. */
export type WebhookAttempt = {
  readonly at: number;
  readonly durationMs: number;
  readonly statusCode?: number;
  readonly error?: string;
};

export type Delivery = {
  /** The job's storage sequence. */
  readonly seq: number;
  /** Which end of the job it reports (D3). */
  readonly end: number;
  /** Host and port of the receiver. */
  readonly host: string;
  /** The last WEBHOOK_LOG_MAX attempts. */
  readonly attempts: readonly WebhookAttempt[];
  /** Attempts that are left, the next one included. */
  readonly left: number;
  /** When the next attempt is due; null when there will be none. */
  readonly nextAt: number | null;
};

export type DeliveryState = "pending" | "delivered" | "failed";

/** The delivery of a job's end, due at once. */
export function newDelivery(job: Pick<Delivery, "seq" | "end" | "host">, now: number): Delivery {
  return { ...job, attempts: [], left: WEBHOOK_ATTEMPTS, nextAt: now };
}

/** A delivery above the limit of pending ones: it has failed before its first attempt, and can be redelivered. */
export function droppedDelivery(job: Pick<Delivery, "seq" | "end" | "host">, now: number): Delivery {
  const error = "Too many webhooks of this endpoint wait for their receivers; this one was not sent.";
  return { ...job, attempts: [{ at: now, durationMs: 0, error }], left: 0, nextAt: null };
}

/** What an attempt leaves of a delivery. */
export function afterAttempt(delivery: Delivery, attempt: WebhookAttempt): Delivery {
  const attempts = [...delivery.attempts, attempt].slice(-WEBHOOK_LOG_MAX);
  const left = isSuccess(attempt) ? 0 : delivery.left - 1; // D1
  const endedAt = attempt.at + attempt.durationMs;
  return { ...delivery, attempts, left, nextAt: left > 0 ? nextAttemptAt(endedAt) : null }; // D2
}

/** The same delivery once more, due at once. */
export function redelivered(delivery: Delivery, now: number): Delivery {
  return { ...delivery, left: WEBHOOK_ATTEMPTS, nextAt: now };
}

export function stateOfDelivery({ nextAt, attempts }: Delivery): DeliveryState {
  if (nextAt !== null) return "pending";
  const last = attempts.at(-1);
  return last && isSuccess(last) ? "delivered" : "failed";
}

/** The delivery's name toward the receiver, the same in all its attempts. */
export function webhookId(jobId: string, end: number): string {
  return `msg_${jobId}_${end}`;
}

function isSuccess({ statusCode = 0 }: WebhookAttempt): boolean {
  return statusCode >= 200 && statusCode <= 299;
}

/** Rounded up to whole seconds, so that many failures share an alarm. */
function nextAttemptAt(endedAt: number): number {
  return Math.ceil((endedAt + WEBHOOK_RETRY_MS) / 1_000) * 1_000;
}
