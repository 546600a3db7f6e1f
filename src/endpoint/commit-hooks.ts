/** What follows from a turn of the Endpoint object: jobs handed out, waiters told, all of it in the same commit. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import { ANSWER_INPUTS_MAX_BYTES } from "./dispatch/dispatch.ts";
import { resultKey } from "../durable/stored-payload.ts";
import type { FleetPort } from "../durable/ports.ts";
import type { EndpointParts } from "./composition.ts";
import { publicId } from "./queue/job-reference.ts";
import type { StoredJob } from "./queue/job-store.ts";
import type { DesiredWorkers } from "./scaling/autoscaler.ts";

/** R2 takes no more keys in one call. */
const DELETE_MAX_KEYS = 1_000;

export type Outside = {
  readonly bucket: R2Bucket;
  readonly setDesiredWorkers: FleetPort["setDesiredWorkers"];
  readonly keepAlive: (work: Promise<unknown>) => void;
};

export class CommitHooks {
  readonly #parts: EndpointParts;
  readonly #outside: Outside;

  constructor(parts: EndpointParts, outside: Outside) {
    this.#parts = parts;
    this.#outside = outside;
  }

  /** Runs once per turn: everything that follows from what the turn did, in the same commit. */
  finish(): void {
    const now = Date.now();
    const { facts, scaling, ledger, outbox, sender, batchIndex, activity, gauges, requests, storage } =
      this.#parts;
    this.#dispatchJobs(now);
    storage.endTurn();
    this.#notifyOfChunks(now);
    this.#applyEffects(now);
    this.#dropOrphanedPayloads();
    requests.endTurn(now);
    if (!facts.config) return;
    this.#scale(facts.config, now);
    activity.endTurn(gauges.read(), now, requests.checkpointDueAt);
    ledger.persist(now);
    outbox.save();
    sender.start();
    batchIndex.persist(now);
    this.#arm(now);
    if (scaling.isUnsent) this.#sendDesiredWorkers();
  }

  /** Who gets no more jobs must get none of those that come before it is gone. */
  #scale(config: EndpointConfig, now: number): void {
    const { scaling, dispatch, notifier, loadBalancing } = this.#parts;
    const { closed, hasReopened } = scaling.decide(config, now);
    if (closed.length > 0) dispatch.withdraw(closed);
    if (!hasReopened) return;
    dispatch.wakeAll();
    notifier.notifyAllAgents();
    loadBalancing.handlers.notify();
  }

  #arm(now: number): void {
    const { alarm, queue, ledger, scaling, outbox, batches, activity } = this.#parts;
    const isMoreToSweep = alarm.armedAt === null && queue.isRebuilding && ledger.hasJobs;
    const dueAt = [
      queue.nextSweepAt,
      scaling.nextAt(now),
      outbox.nextAt(now),
      batches.work.nextAt(now),
      activity.checkpointDueAt,
      isMoreToSweep ? now : null,
    ].filter((at) => at !== null);
    if (dueAt.length > 0) alarm.armBy(Math.min(...dueAt));
  }

  #sendDesiredWorkers(): void {
    const send = async ({ desired, leaving, resume = [] }: DesiredWorkers) => {
      // Read at the moment of sending: it may change while an earlier wish is on its way.
      const { config } = this.#parts.facts;
      if (config)
        await this.#outside.setDesiredWorkers({ config, desired, leaving, resume, isRemoved: false });
    };
    this.#outside.keepAlive(this.#parts.scaling.send(send));
  }

  /** Gives what waits to the agents held here, then rings for those that wait outside. */
  #dispatchJobs(now: number): void {
    const { dispatch, storage, queue, agents, notifier } = this.#parts;
    const slots = dispatch.takeSlots(storage.claimable);
    const claims = queue.claim(slots, now, ANSWER_INPUTS_MAX_BYTES);
    for (const [index, slot] of slots.entries()) {
      const claimed = claims[index];
      if (claimed) slot.give(agents.dispatched(claimed, claimed.order), claimed.seq);
      else slot.putBack();
    }
    dispatch.flush();
    notifier.notifyAgentsOfJobs(storage.claimable);
  }

  #notifyOfChunks(now: number): void {
    for (const seq of this.#parts.agents.takeStreamed()) {
      this.#parts.streamWaiters.wake(seq, "look");
      this.#parts.notifier.notifyStream(seq, now);
    }
  }

  #applyEffects(now: number): void {
    for (const effect of this.#parts.queue.takeEffects()) {
      switch (effect.kind) {
        case "settled":
          this.#notifyOfEnd(effect.seq, now);
          break;
        case "stopHandler":
          this.#notifyOfStop(effect.hostId);
          break;
        case "requeued":
          this.#parts.agents.forget(effect.seq);
          this.#parts.batchIndex.jobRequeued(effect.seq);
          break;
      }
    }
  }

  #notifyOfEnd(seq: number, now: number): void {
    const { agents, jobWaiters, streamWaiters, notifier } = this.#parts;
    agents.forget(seq);
    jobWaiters.wake(seq, "look");
    streamWaiters.wake(seq, "look");
    notifier.notifyJob(seq, now);
  }

  #notifyOfStop(hostId: string): void {
    const { agents, dispatch, notifier } = this.#parts;
    agents.markStopPending(hostId);
    dispatch.wake(hostId);
    notifier.notifyAgent(hostId);
  }

  #dropOrphanedPayloads(): void {
    const endpointId = this.#parts.facts.config?.endpointId ?? "";
    const keyOfUpload = (stored: StoredJob) => resultKey(endpointId, publicId(stored), stored.job.attempt);
    const keys = [
      ...this.#parts.queue.takeOrphanedKeys(keyOfUpload),
      ...this.#parts.batches.work.takeOrphanedKeys(),
    ];
    for (let from = 0; from < keys.length; from += DELETE_MAX_KEYS) {
      this.#outside.keepAlive(this.#outside.bucket.delete(keys.slice(from, from + DELETE_MAX_KEYS)));
    }
  }

  /** Those who wait for a job that was purged. */
  notifyOfPurge(now: number): void {
    this.#parts.batches.work.purge();
    this.#parts.jobWaiters.wakeAll("look");
    this.#parts.streamWaiters.wakeAll("look");
    this.#parts.notifier.notifyAllJobs(now);
  }
}
