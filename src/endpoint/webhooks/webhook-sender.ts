/**
 * Sends what is in the outbox. Calls run beside the turns of the object: a turn that ends a job starts the call,
 * and the output gate holds it until the job's end is durable. Interrupted calls are repeated by the alarm.
 */
import { WEBHOOK_TIMEOUT_MS } from "../../contract/webhook.ts";
import { webhookUrlIssue } from "../../domain/webhooks/webhook-url.ts";
import { isExpired, isFinal } from "../../domain/jobs/job-machine.ts";
import { webhookId, type Delivery, type WebhookAttempt } from "../../domain/webhooks/webhook-delivery.ts";
import { WebhookScheduler } from "../../domain/webhooks/webhook-scheduler.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import { publicId, type JobStore } from "../queue/job-store.ts";
import type { Queue } from "../queue/queue.ts";
import { WebhookMessage } from "./webhook-message.ts";
import type { WebhookOutbox } from "./webhook-outbox.ts";
import { signatures } from "./webhook-signature.ts";
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";

/** A receiver that answers later than this, or not at all, is suspect. */
const WEBHOOK_SLOW_MS = 2_000;

const USER_AGENT = "Edgerun-Webhooks/1";
const REASON_MAX_LENGTH = 200;
const TOO_LATE = `no answer came within ${WEBHOOK_TIMEOUT_MS / 1_000} seconds.`;
const REDIRECT = "Redirects are not followed. Use the URL that answers without one.";

export type WebhookSenderParts = {
  readonly outbox: WebhookOutbox;
  readonly queue: Pick<Queue, "get">;
  readonly store: Pick<JobStore, "webhookOf" | "requestOf">;
  readonly facts: EndpointFacts;
  readonly bucket: R2Bucket;
  /** Loopback and private addresses may be called; for development. */
  readonly allowsPrivate: boolean;
  readonly commit: Pick<GroupCommit, "run">;
  readonly keepAlive: (work: Promise<void>) => void;
};

type Call = { readonly url: string; readonly id: string; readonly message: WebhookMessage };

export class WebhookSender {
  readonly #parts: WebhookSenderParts;
  readonly #turns = new WebhookScheduler();
  #isFlushing = false;
  /** When the last outcome came. */
  #settledAt = 0;

  constructor(parts: WebhookSenderParts) {
    this.#parts = parts;
  }

  /** Starts as many calls as are due and allowed. */
  start(): void {
    const { outbox, facts, keepAlive } = this.#parts;
    if (!facts.config) return;
    for (;;) {
      const delivery = outbox.take(Date.now(), (hosts) => this.#turns.next(hosts));
      if (!delivery) break;
      this.#turns.opened(delivery.host);
      keepAlive(this.#send(delivery));
    }
    if (outbox.hasUnsaved && !this.#isFlushing) keepAlive(this.#flushIn(IN_OBJECT_WAIT_MS));
  }

  async #send(delivery: Delivery): Promise<void> {
    const attempt = await this.#attempt(delivery);
    this.#turns.closed(delivery.host, attempt === null || isPrompt(attempt));
    const { outbox, keepAlive } = this.#parts;
    const now = Date.now();
    outbox.settle(delivery, attempt, now);
    const isAlone = !outbox.isUnderway && now - this.#settledAt > IN_OBJECT_WAIT_MS;
    this.#settledAt = now;
    if (isAlone && !this.#isFlushing) keepAlive(this.#flushIn(0)); // a wait would keep the object awake for it alone
    this.start();
  }

  /** Outcomes that come within a moment are written together, or with what else is written by then. */
  async #flushIn(ms: number): Promise<void> {
    const { outbox, facts, commit } = this.#parts;
    this.#isFlushing = true;
    if (ms > 0) await scheduler.wait(ms);
    const work = () => {
      this.#isFlushing = false;
      outbox.flush();
    };
    if (outbox.hasUnsaved && facts.config) await commit.run(work);
    else this.#isFlushing = false;
  }

  // One call

  /** Calls the receiver once; null when the delivery is no longer needed. */
  async #attempt(delivery: Delivery): Promise<WebhookAttempt | null> {
    const call = this.#compose(delivery);
    if (!call) return null;
    const at = Date.now();
    const outcome = await this.#post(call, at).catch((error: unknown) => ({ error: reasonOf(error) }));
    return { at, durationMs: Date.now() - at, ...outcome };
  }

  #compose({ seq, end }: Delivery): Call | undefined {
    const { queue, store, bucket } = this.#parts;
    const stored = queue.get(seq);
    if (!stored || !isFinal(stored.job.state) || stored.job.retries !== end) return undefined;
    if (isExpired(stored.job, Date.now())) return undefined;
    const request = store.requestOf(seq);
    const { url } = store.webhookOf(seq);
    if (!request || url === null) return undefined;
    const message = new WebhookMessage(bucket, stored, request, url);
    return { url, id: webhookId(publicId(stored), end), message };
  }

  async #post({ url, id, message }: Call, at: number): Promise<{ statusCode?: number; error?: string }> {
    const { facts, allowsPrivate } = this.#parts;
    const error = webhookUrlIssue(new URL(url), allowsPrivate);
    if (error !== null) return { error: `The URL ${error}.` };
    const timestamp = String(Math.floor(at / 1_000));
    const head = `${id}.${timestamp}.`;
    const signature = await signatures(facts.signingSecrets(at), head, () => message.read());
    const { body, stop } = message.open();
    const timeout = new AbortController();
    // Not AbortSignal.timeout, which would keep the object awake long after the call.
    const timer = setTimeout(() => timeout.abort(new Error(TOO_LATE)), WEBHOOK_TIMEOUT_MS);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": USER_AGENT,
          "webhook-id": id,
          "webhook-timestamp": timestamp,
          "webhook-signature": signature,
        },
        body,
        redirect: "manual",
        signal: timeout.signal,
      });
      await response.body?.cancel();
      return classifyResponse(response.status);
    } catch (error) {
      throw timeout.signal.aborted ? new Error(TOO_LATE) : error;
    } finally {
      clearTimeout(timer);
      stop();
    }
  }
}

function isPrompt({ statusCode, durationMs }: WebhookAttempt): boolean {
  return statusCode !== undefined && durationMs < WEBHOOK_SLOW_MS;
}

function classifyResponse(statusCode: number): { statusCode: number; error?: string } {
  const isRedirect = statusCode >= 300 && statusCode <= 399;
  return { statusCode, ...(isRedirect && { error: REDIRECT }) };
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : "unknown";
  return `The call failed: ${reason.slice(0, REASON_MAX_LENGTH)}`;
}
