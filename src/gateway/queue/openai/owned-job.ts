/**
 * A job that belongs to one request. The client has no id to read it by later, so the job is cancelled when the client
 * goes before the answer is complete.
 */
import { logFailure } from "../../../management/failure-log.ts";
import { callShardOfJob } from "../../../management/endpoints/endpoint-directory.ts";
import type { QueueContext } from "../context.ts";

export class OwnedJob {
  readonly #context: QueueContext;
  readonly #jobId: string;
  readonly #over = Promise.withResolvers<void>();
  readonly #onGone = (): void => void this.abandon();
  #isOver = false;

  /**
   * From here on the job is cancelled when the client hangs up, unless `isOwned` is false: an idempotency key finds
   * such a job again.
   */
  constructor(context: QueueContext, jobId: string, isOwned: boolean) {
    this.#context = context;
    this.#jobId = jobId;
    this.#isOver = !isOwned;
    if (!isOwned) return;
    const { signal } = context.req.raw;
    signal.addEventListener("abort", this.#onGone);
    context.executionCtx.waitUntil(this.#over.promise);
    if (signal.aborted) this.#onGone();
  }

  /** The answer is complete. */
  complete(): void {
    if (this.#isOver) return;
    this.#end();
    this.#over.resolve();
  }

  /** Cancels the job, since there will be no answer. An ended one does not change. */
  async abandon(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const { env, req } = this.#context;
    const endpoint = this.#context.get("endpoint");
    await callShardOfJob(env, endpoint, this.#jobId, (stub) => stub.abandon(this.#jobId)).catch(
      (error: unknown) => logFailure("request_failed", { path: req.path }, error),
    );
    this.#over.resolve();
  }

  #end(): void {
    this.#isOver = true;
    this.#context.req.raw.signal.removeEventListener("abort", this.#onGone);
  }
}
