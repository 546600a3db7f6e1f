/**
 * Brings large results to the edge, one after the other, each before its report goes in an exchange.
 *
 * An upload may be repeated, so nothing about it is written down: what the journal holds after a restart is
 * uploaded again.
 */
import type { UploadReply } from "../../src/contract/agent/agent.ts";
import type { AttemptLedger } from "../journal/attempt-ledger.ts";
import type { AttemptRef } from "../journal/journal.ts";
import type { EdgeOutcome } from "../edge/edge-client.ts";
import type { EdgeContext } from "../edge/edge-context.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";

export type ResultUploadsOptions = EdgeContext & { readonly ledger: AttemptLedger };

export class ResultUploads {
  readonly #options: ResultUploadsOptions;
  readonly #schedule = new Schedule(() => void this.#uploadNext());
  readonly #backoff: Backoff;
  #isUploading = false;
  /** Goes last, so that one result that cannot be brought holds up no other. */
  #failedLast: AttemptRef | undefined;

  constructor(options: ResultUploadsOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.timing, options.random);
    options.signal.addEventListener("abort", () => this.#schedule.cancel(), { once: true });
  }

  /** There may be a result to upload. */
  reportsChanged(): void {
    if (this.#isUploading || this.#options.signal.aborted) return;
    if (this.#options.ledger.resultsToUpload().length > 0) this.#schedule.within(this.#backoff.remainingMs());
  }

  /** The network is back: nothing waits for the end of a rest any more. */
  reconnected(): void {
    this.#backoff.restart();
    this.reportsChanged();
  }

  async #uploadNext(): Promise<void> {
    const { ledger, log } = this.#options;
    const waiting = ledger.resultsToUpload();
    const ref = waiting.find((one) => one !== this.#failedLast) ?? waiting[0];
    if (!ref || this.#isUploading) return;
    this.#isUploading = true;
    try {
      await this.#upload(ref);
    } catch (error) {
      log.error("journal_failed", { jobId: ref.jobId, reason: String(error) });
      this.#backoff.increase();
    }
    this.#isUploading = false;
    this.reportsChanged();
  }

  async #upload(ref: AttemptRef): Promise<void> {
    const { client, ledger, timing, signal } = this.#options;
    const limits = { timeoutMs: timing.edgeUploadMs, signal };
    const outcome = await client.upload(ref, ledger.resultOf(ref), limits);
    if (!signal.aborted) await this.#settle(ref, outcome);
  }

  async #settle(ref: AttemptRef, outcome: EdgeOutcome<UploadReply>): Promise<void> {
    const { ledger, log, onUnauthorized } = this.#options;
    const { endpointId, jobId, attempt } = ref;
    if (outcome.kind === "answered") {
      this.#backoff.reset();
      if (outcome.reply.outcome === "refused") return ledger.acknowledge(jobId, attempt, "refused");
      const { upload } = outcome.reply;
      log.debug("result_uploaded", { jobId, attempt, sizeBytes: upload.sizeBytes });
      return ledger.markUploaded(ref, upload);
    }
    if (outcome.kind === "unauthorized") onUnauthorized();
    if (outcome.kind === "refused") {
      log.warn("edge_refused", { endpointId, status: outcome.status, detail: outcome.detail });
      if (isPermanent(outcome.status)) {
        return ledger.failUpload(ref, `The edge did not take the result: ${outcome.detail}`);
      }
    }
    this.#failedLast = ref;
    this.#backoff.increase();
  }
}

/** A repeated upload would always be refused. */
function isPermanent(status: number): boolean {
  return status === 400 || status === 413;
}
