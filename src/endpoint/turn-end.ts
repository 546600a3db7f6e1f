/** What follows from a turn of the Endpoint object: jobs handed out, waiters told, all of it in the same commit. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import { ANSWER_INPUTS_MAX_BYTES } from "../contract/limits.ts";
import { resultKey } from "../domain/payload-key.ts";
import type { FleetPort } from "../durable/ports.ts";
import type { EndpointParts } from "./endpoint-parts.ts";
import { publicId } from "./job-reference.ts";
import type { StoredJob } from "./job-store.ts";
import type { WishedWorkers } from "./scaling.ts";

/** R2 takes no more keys in one call. */
const DELETE_MAX_KEYS = 1_000;

export type Outside = {
  readonly bucket: R2Bucket;
  readonly wish: FleetPort["wish"];
  readonly keepAlive: (work: Promise<unknown>) => void;
};

export class TurnEnd {
  readonly #parts: EndpointParts;
  readonly #outside: Outside;

  constructor(parts: EndpointParts, outside: Outside) {
    this.#parts = parts;
    this.#outside = outside;
  }

  /** Runs once per turn: everything that follows from what the turn did, in the same commit. */
  finish(): void {
    const now = Date.now();
    const { facts, scaling, ledger, outbox, sender, book, activity, levels, direct, storage } = this.#parts;
    this.#handOut(now);
    storage.endTurn();
    this.#tellOfChunks(now);
    this.#carryOutEffects(now);
    this.#dropOrphanedPayloads();
    direct.endTurn(now);
    if (!facts.config) return;
    this.#scale(facts.config, now);
    activity.endTurn(levels.read(), now, direct.noteAt);
    ledger.persist(now);
    outbox.save();
    sender.start();
    book.persist(now);
    this.#arm(now);
    if (scaling.isUntold) this.#tellFleet();
  }

  /** Who gets no more jobs must get none of those that come before it is gone. */
  #scale(config: EndpointConfig, now: number): void {
    const { scaling, dispatch, bells, serving } = this.#parts;
    const { closed, hasReopened } = scaling.decide(config, now);
    if (closed.length > 0) dispatch.withdraw(closed);
    if (!hasReopened) return;
    dispatch.wakeAll();
    bells.ringAllAgents();
    serving.desk.ring();
  }

  #arm(now: number): void {
    const { alarm, queue, ledger, scaling, outbox, batches, activity } = this.#parts;
    const isMoreToSweep = alarm.armedAt === null && queue.isRebuilding && ledger.hasJobs;
    const dueAt = [
      queue.nextSweepAt,
      scaling.nextAt(now),
      outbox.nextAt(now),
      batches.work.nextAt(now),
      activity.noteAt,
      isMoreToSweep ? now : null,
    ].filter((at) => at !== null);
    if (dueAt.length > 0) alarm.armBy(Math.min(...dueAt));
  }

  #tellFleet(): void {
    const send = async ({ wanted, leaving, resume = [] }: WishedWorkers) => {
      // Read at the moment of sending: it may change while an earlier wish is on its way.
      const { config } = this.#parts.facts;
      if (config) await this.#outside.wish({ config, wanted, leaving, resume, isRemoved: false });
    };
    this.#outside.keepAlive(this.#parts.scaling.tell(send));
  }

  /** Gives what waits to the agents held here, then rings for those that wait outside. */
  #handOut(now: number): void {
    const { dispatch, storage, queue, agents, bells } = this.#parts;
    const slots = dispatch.takeSlots(storage.claimable);
    const claims = queue.claim(slots, now, ANSWER_INPUTS_MAX_BYTES);
    for (const [index, slot] of slots.entries()) {
      const claimed = claims[index];
      if (claimed) slot.give(agents.dispatched(claimed, claimed.order), claimed.seq);
      else slot.putBack();
    }
    dispatch.flush();
    bells.ringForJobs(storage.claimable);
  }

  #tellOfChunks(now: number): void {
    for (const seq of this.#parts.agents.takeStreamed()) {
      this.#parts.streamWaiters.wake(seq, "look");
      this.#parts.bells.ringStream(seq, now);
    }
  }

  #carryOutEffects(now: number): void {
    for (const effect of this.#parts.queue.takeEffects()) {
      switch (effect.kind) {
        case "settled":
          this.#tellOfEnd(effect.seq, now);
          break;
        case "stopHandler":
          this.#tellToStop(effect.hostId);
          break;
        case "requeued":
          this.#parts.agents.forget(effect.seq);
          this.#parts.book.jobRequeued(effect.seq);
          break;
      }
    }
  }

  #tellOfEnd(seq: number, now: number): void {
    const { agents, jobWaiters, streamWaiters, bells } = this.#parts;
    agents.forget(seq);
    jobWaiters.wake(seq, "look");
    streamWaiters.wake(seq, "look");
    bells.ringJob(seq, now);
  }

  #tellToStop(hostId: string): void {
    const { agents, dispatch, bells } = this.#parts;
    agents.noteNews(hostId);
    dispatch.wake(hostId);
    bells.ringAgent(hostId);
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
  tellOfPurge(now: number): void {
    this.#parts.batches.work.purge();
    this.#parts.jobWaiters.wakeAll("look");
    this.#parts.streamWaiters.wakeAll("look");
    this.#parts.bells.ringAllJobs(now);
  }
}
