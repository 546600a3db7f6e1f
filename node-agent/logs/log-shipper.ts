/**
 * Sends lines to the edge: in batches to be stored, and at once to followers. The two are independent,
 * each with one call at a time, so that a slow one does not delay the other. Followed lines are stored later, too.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { LogReply, LogRequest } from "../../src/contract/agent/log.ts";
import { LOG_LIVE_DELAY_MS } from "../../src/contract/agent/log.ts";
import type { EdgeOutcome } from "../edge/edge-client.ts";
import { type EdgeContext, reportFailedCall } from "../edge/edge-context.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";
import type { Batch, WorkerLines } from "./worker-lines.ts";

export type LogShipperOptions = EdgeContext & {
  readonly workers: () => readonly WorkerLines[];
  /** Called before lines are sent to be stored. */
  readonly onBatch: () => void;
  /** Called when the edge has stored a batch, or has passed it on, or rejected it for good. */
  readonly onSent: (worker: WorkerLines) => void;
};

type Sent = { readonly worker: WorkerLines; readonly batch: Batch };

const CONVERSATION = "logs";
/** So many workers share a call; each brings at most one batch. */
const WORKERS_PER_CALL = 8;
const zip = promisify(gzip);

export class LogShipper {
  readonly #options: LogShipperOptions;
  readonly #backoff: Backoff;
  readonly #batches = new Schedule(() => void this.#sendBatches());
  readonly #live = new Schedule(() => void this.#sendLive());
  /** The number of the newest follower, by endpoint, as the edge reports it. */
  readonly #follows = new Map<string, number>();
  /** These calls outlast the agent's others, so that lines that the edge has stored are not sent again. */
  readonly #closing = new AbortController();
  #sending: Promise<void> | null = null;
  #isLiveUnderway = false;

  constructor(options: LogShipperOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.timing, options.random);
    options.signal.addEventListener("abort", () => {
      this.#batches.cancel();
      this.#live.cancel();
    });
  }

  follow(endpointId: string): number {
    return this.#follows.get(endpointId) ?? 0;
  }

  /** The edge reports the followers of an endpoint's logs. */
  setFollow(endpointId: string, follow: number): void {
    const known = this.follow(endpointId);
    if (follow === 0) this.#follows.delete(endpointId);
    else this.#follows.set(endpointId, follow);
    if (follow === known) return;
    for (const worker of this.#options.workers()) {
      if (worker.endpointId !== endpointId) continue;
      if (follow === 0) worker.endLive();
      else worker.beginLive(Date.now());
    }
    if (follow > 0) this.#live.within(0);
  }

  /** A worker has more lines. */
  changed(worker: WorkerLines): void {
    if (this.#options.signal.aborted) return;
    const now = Date.now();
    const dueAt = worker.dueAt(now);
    if (dueAt !== undefined && !this.#sending) this.#batches.within(Math.max(0, dueAt - now));
    if (this.follow(worker.endpointId) > 0 && !this.#isLiveUnderway) this.#live.within(LOG_LIVE_DELAY_MS);
  }

  /** Sends all that is there, as far as the edge takes it within the time, and ends. */
  async close(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), timeoutMs);
    await this.#sending;
    while (!this.#closing.signal.aborted && this.#options.workers().some((worker) => !worker.isEmpty)) {
      if (!(await this.#ship(this.#options.workers()))) break;
    }
    clearTimeout(timer);
    this.#closing.abort();
  }

  // Storing

  async #sendBatches(): Promise<void> {
    if (this.#sending || this.#options.signal.aborted) return;
    const restMs = this.#backoff.remainingMs();
    if (restMs > 0) return this.#batches.within(restMs);
    this.#options.onBatch();
    const now = Date.now();
    const due = this.#options.workers().filter((worker) => (worker.dueAt(now) ?? Infinity) <= now);
    this.#sending = this.#ship(due).then(() => {});
    await this.#sending;
    this.#sending = null;
    for (const worker of this.#options.workers()) this.changed(worker);
  }

  /** False when the edge did not take the lines. */
  async #ship(workers: readonly WorkerLines[]): Promise<boolean> {
    const now = Date.now();
    const filled = workers.filter((worker) => !worker.isEmpty).slice(0, WORKERS_PER_CALL);
    const sent = filled.map((worker) => ({ worker, batch: worker.nextBatch(now) }));
    if (sent.length === 0) return true;
    const outcome = await this.#call(sent, false);
    const isStored = isOver(outcome);
    for (const { worker, batch } of sent) {
      if (!isStored) worker.failed(now);
      else {
        worker.markStored(batch, Date.now());
        this.#options.onSent(worker);
      }
    }
    return isStored;
  }

  // At once

  async #sendLive(): Promise<void> {
    if (this.#isLiveUnderway || this.#options.signal.aborted) return;
    const restMs = this.#backoff.remainingMs();
    if (restMs > 0) return this.#live.within(restMs);
    const followed = this.#options.workers().filter(({ endpointId }) => this.follow(endpointId) > 0);
    const sent = followed
      .map((worker) => ({ worker, batch: worker.nextLive() }))
      .filter(({ batch }) => batch.lines.length > 0)
      .slice(0, WORKERS_PER_CALL);
    if (sent.length === 0) return;
    this.#isLiveUnderway = true;
    const outcome = await this.#call(sent, true);
    this.#isLiveUnderway = false;
    if (isOver(outcome)) for (const one of sent) this.#passedOn(one);
    if (outcome.kind === "answered") {
      for (const { endpointId, follow } of outcome.reply.follows) this.setFollow(endpointId, follow);
    }
    if (!this.#options.signal.aborted) this.#live.within(LOG_LIVE_DELAY_MS);
  }

  #passedOn({ worker, batch }: Sent): void {
    worker.sentLive(batch);
    this.#options.onSent(worker);
  }

  // The call

  async #call(sent: readonly Sent[], isLive: boolean): Promise<EdgeOutcome<LogReply>> {
    const { client, timing } = this.#options;
    const workers = sent.map(({ worker: { endpointId, workerId }, batch: { lines } }) => {
      const follow = isLive ? { follow: this.follow(endpointId) } : {};
      return { endpointId, workerId, lines: [...lines], ...follow };
    });
    const request: LogRequest = { now: Date.now(), isLive, workers };
    const body = new Uint8Array(await zip(JSON.stringify(request)));
    const outcome = await client.logs(body, { timeoutMs: timing.edgeSlackMs, signal: this.#closing.signal });
    if (!this.#options.signal.aborted) this.#recordOutcome(outcome);
    return outcome;
  }

  #recordOutcome(outcome: EdgeOutcome<LogReply>): void {
    const { reachability, log } = this.#options;
    if (outcome.kind === "answered") {
      this.#backoff.reset();
      for (const refused of outcome.reply.refused ?? []) log.warn("log_lines_refused", refused);
      return reachability.answered(CONVERSATION);
    }
    this.#backoff.increase();
    reportFailedCall(this.#options, CONVERSATION, outcome);
  }
}

/** What the edge refuses it will not take later. */
function isOver({ kind }: EdgeOutcome<LogReply>): boolean {
  return kind === "answered" || kind === "refused";
}
