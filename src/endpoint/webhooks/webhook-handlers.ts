/** The operations on webhooks of jobs: reads the log of a delivery, and sends it once more. */
import { isFinal } from "../../domain/jobs/job-machine.ts";
import type { WebhookLogBody } from "../../contract/webhook.ts";
import { stateOfDelivery, type Delivery } from "../../domain/webhooks/webhook-delivery.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import { earliest } from "../../std/earliest.ts";
import { publicId, type JobStore, type QueueEntry } from "../queue/job-store.ts";
import type { Limited, RedeliverOutcome, WebhookLogOutcome } from "../messages.ts";
import type { Queue } from "../queue/queue.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { FeatureHooks } from "../commit-hooks.ts";
import { WEBHOOK_RECHECK_MS, type WebhookOutbox } from "./webhook-outbox.ts";
import type { WebhookSender } from "./webhook-sender.ts";

export type WebhookHandlersParts = {
  readonly queue: Queue;
  readonly store: Pick<JobStore, "webhookOf">;
  readonly outbox: WebhookOutbox;
  readonly ledger: Pick<QueueLedger, "demandCheckpoint">;
  readonly limits: RequestLimits;
  readonly commit: GroupCommit;
  readonly sender: WebhookSender;
};

export class WebhookHandlers {
  readonly #parts: WebhookHandlersParts;

  constructor(parts: WebhookHandlersParts) {
    this.#parts = parts;
  }

  get hooks(): FeatureHooks {
    const { outbox, sender, ledger } = this.#parts;
    return {
      isInterrupted: () => outbox.isReady,
      commit: () => outbox.save(),
      send: () => sender.start(),
      // While webhooks come, the alarm stays at a minute: to move it back after each of them would be a row.
      nextAt: (now) =>
        outbox.addedSince(now - WEBHOOK_RECHECK_MS)
          ? earliest([outbox.nextAt(now), now + WEBHOOK_RECHECK_MS])
          : outbox.nextAt(now),
      sweep: (now) => {
        if (outbox.sweep(now)) ledger.demandCheckpoint();
      },
    };
  }

  log(jobId: string): Promise<Limited<WebhookLogOutcome>> {
    const { limits, queue } = this.#parts;
    return limits.admit<WebhookLogOutcome>("webhooks", Date.now(), async () => {
      const stored = queue.find(jobId, Date.now());
      return stored ? { kind: "log", log: this.logOf(stored) } : NOT_FOUND;
    });
  }

  redeliver(jobId: string): Promise<Limited<RedeliverOutcome>> {
    const { limits, queue, store, outbox, commit } = this.#parts;
    const work = (): RedeliverOutcome => {
      const now = Date.now();
      const stored = queue.find(jobId, now);
      if (!stored) return NOT_FOUND;
      const { seq, job } = stored;
      const { url, page } = store.webhookOf(seq);
      if (url === null) return { kind: "refused", reason: "no_webhook" };
      if (!isFinal(job.state)) return { kind: "refused", reason: "not_ended" };
      const delivery = outbox.redeliver(page, seq, job.retries, now);
      if (!delivery) return { kind: "refused", reason: "never_sent" };
      return { kind: "log", log: toBody(stored, url, delivery) };
    };
    return limits.admit("webhooks", Date.now(), () => commit.run(work));
  }

  /** The log of the delivery of a job's last end. */
  logOf(stored: QueueEntry): WebhookLogBody {
    const { store, outbox } = this.#parts;
    const { url, page } = store.webhookOf(stored.seq);
    const delivery = page === 0 ? undefined : outbox.find(page, stored.seq, stored.job.retries);
    return toBody(stored, url, delivery);
  }
}

const NOT_FOUND = { kind: "not_found" } as const;

function toBody(stored: QueueEntry, webhook: string | null, delivery: Delivery | undefined): WebhookLogBody {
  const id = publicId(stored);
  if (!delivery) return { id, webhook, state: "none", attempts: [] };
  const { attempts, nextAt } = delivery;
  return {
    id,
    webhook,
    state: stateOfDelivery(delivery),
    attempts,
    ...(nextAt !== null && { nextAttemptAt: nextAt }),
  };
}
