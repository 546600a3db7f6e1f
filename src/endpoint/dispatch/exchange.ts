/** Agents at the object: their exchanges, the wake-up channels on which they wait, and the lines that followers read. */
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { EndpointFacts, FleetNews, WorkerLookup } from "../facts/endpoint-facts.ts";
import type {
  ExchangeAnswer,
  ExchangeCall,
  ExchangeReply,
  FollowReply,
  Slots,
  UploadRef,
  UploadReply,
} from "../messages.ts";
import type { JobStorage } from "../queue/job-storage.ts";
import type { Queue } from "../queue/queue.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { LeadShard } from "../shards/lead-shard.ts";
import type { WorkerLending } from "../shards/worker-lending.ts";
import type { AgentHandlers } from "./agent-handlers.ts";
import { ANSWER_INPUTS_MAX_BYTES, type Dispatch } from "./dispatch.ts";
import type { Followers } from "./log-followers.ts";
import { readAgentQuery, type EndpointNotifier } from "./notifier.ts";

export type AgentExchangesParts = {
  readonly facts: EndpointFacts;
  readonly lookup: WorkerLookup;
  readonly commit: GroupCommit;
  readonly queue: Queue;
  readonly storage: JobStorage;
  readonly scaling: Pick<Autoscaler, "openTo" | "admissionVersion">;
  readonly dispatch: Dispatch;
  readonly handlers: AgentHandlers;
  readonly notifier: EndpointNotifier;
  readonly followers: Followers;
  readonly lead: LeadShard;
  readonly lending: WorkerLending;
};

const NOTHING: ExchangeAnswer = { acks: [], chunkAcks: [], jobs: [], stops: [] };

export class AgentExchanges {
  readonly #parts: AgentExchangesParts;

  constructor(parts: AgentExchangesParts) {
    this.#parts = parts;
  }

  /** Takes an agent's reports, extends its leases, answers with jobs and stops; a waiting call waits a moment for some. */
  async exchange(call: ExchangeCall): Promise<ExchangeReply> {
    const { dispatch, commit, handlers, facts, lookup, lending } = this.#parts;
    await lookup.learnOf(call.slots);
    this.#endOtherSessions(call);
    let isOvertaken = false;
    const answer = await commit.run(() => {
      const now = Date.now();
      isOvertaken = !dispatch.callsOf(call.hostId).take(call);
      if (!isOvertaken) lending.exchanged(call, now);
      // Evaluated after the reports: they, or an earlier turn, may have closed a worker.
      const openTo = (slots: Slots) => (isOvertaken ? [] : this.#openSlots(call.hostId, slots));
      const answered = handlers.exchange(call, now, { isOvertaken, openTo });
      if (!isEmptyAnswer({ ...answered, stops: [] })) facts.recordWork(now);
      return answered;
    });
    const news = this.#newsFor(call);
    const isNews = answer.jobs.length + answer.stops.length > 0 || Object.keys(news).length > 0;
    if (!call.isWaiting || isNews) return { kind: "answer", ...answer, at: Date.now(), ...news };
    return withAcks(answer, isOvertaken ? superseded() : await this.#wait(call));
  }

  /** D4: what the call reports may queue jobs again, which are given to agents that wait. */
  #endOtherSessions(call: ExchangeCall): void {
    const { dispatch, notifier } = this.#parts;
    if (call.isRepeated || !dispatch.callsOf(call.hostId).isNewSession(call)) return;
    dispatch.endOtherSession(call);
    notifier.endOtherSessions(call);
  }

  /** Waits for a job for the short time that a call may wait in here. */
  async #wait(call: ExchangeCall): Promise<ExchangeReply> {
    const { dispatch, notifier, facts, handlers } = this.#parts;
    dispatch.supersede(call.hostId);
    notifier.supersede(call);
    const slots = this.#openSlots(call.hostId, call.slots);
    const free = slots.reduce((sum, slot) => sum + slot.free, 0);
    const quiet = { kind: "quiet", free, terms: this.#terms, at: Date.now() } as const;
    if (facts.holdMs(IN_OBJECT_WAIT_MS, Date.now()) === 0) return quiet;
    const end = await dispatch.wait({ ...call, slots: handlers.openSlots({ ...call, slots }) });
    switch (end.kind) {
      case "jobs":
        return { kind: "answer", ...NOTHING, at: Date.now(), jobs: end.jobs };
      case "look":
        return await this.exchange({ ...call, reports: [], chunks: [], isRepeated: true });
      case "quiet":
        return quiet;
      case "superseded":
        return superseded();
    }
  }

  acceptsUpload(upload: UploadRef): UploadReply {
    return { kind: "answer", isAccepted: this.#parts.handlers.acceptsUpload(upload, Date.now()) };
  }

  /** Changes whenever other workers than before may take jobs. */
  get #terms(): string {
    const { facts, scaling } = this.#parts;
    return `${facts.terms}.${scaling.admissionVersion}`;
  }

  #openSlots(hostId: string, slots: Slots): Slots {
    const { facts, scaling, lead, lending } = this.#parts;
    const here = lead.isLeading ? slots.filter(({ workerId }) => lending.isHere(workerId)) : slots;
    return scaling.openTo(facts.openTo(here, () => hostId));
  }

  // Waiting agents

  /** Opens the wake-up channel of `?host=…&session=…&turn=…&free=…&terms=…&follow=…&shards=…`. */
  openChannel(query: URLSearchParams): Response {
    const { handlers, storage, followers, notifier, lead } = this.#parts;
    const agent = readAgentQuery(query);
    const hasNews =
      handlers.hasPendingStop(agent.hostId) ||
      (agent.free > 0 && storage.claimable > 0) ||
      query.get("terms") !== this.#terms ||
      Number(query.get("follow") ?? followers.follow) !== followers.follow ||
      (query.has("shards") && Number(query.get("shards")) !== lead.numberFor(agent.hostId));
    return notifier.openForAgent(agent, hasNews);
  }

  /** All agents exchange again: other workers than before may take jobs, or others follow the logs. */
  lookAgain(): void {
    this.#parts.dispatch.wakeAll();
    this.#parts.notifier.notifyAllAgents();
  }

  /** Agents of these hosts exchange again: their workers belong elsewhere than before. */
  wakeHosts(hostIds: readonly string[]): void {
    for (const hostId of hostIds) this.#wake(hostId);
  }

  /** These workers get no more jobs, so that none is sent to a worker that shuts down. */
  withdraw(workerIds: readonly string[]): void {
    this.#parts.dispatch.withdraw(workerIds);
  }

  // Followers of the logs

  /** Opens the socket of `?logs`, on which lines are sent as they come. */
  follow(now: number): Response {
    const response = this.#parts.followers.accept(now);
    if (response.webSocket) this.lookAgain();
    return response;
  }

  sendToFollowers(lines: string, known: number): FollowReply {
    const { followers } = this.#parts;
    followers.send(lines, known);
    return { kind: "follow", follow: followers.follow };
  }

  /** What the agent does not know yet. */
  #newsFor(call: ExchangeCall): Pick<ExchangeAnswer, "follow" | "shards" | "canary"> {
    const { followers, lead, facts } = this.#parts;
    const canary = facts.takeVerdict(Date.now());
    const shards = lead.newsFor(call);
    const isFollowNews = call.follow !== undefined && call.follow !== followers.follow;
    return {
      ...(isFollowNews && { follow: followers.follow }),
      ...(shards && { shards }),
      ...(canary && { canary }),
    };
  }

  /** To be called for each closed socket that is not one of load balancing. */
  closed(socket: WebSocket): void {
    const { notifier, followers } = this.#parts;
    notifier.closed(socket);
    const { follow } = followers;
    followers.recount();
    if (followers.follow !== follow) this.lookAgain();
  }

  // Hooks

  recover(): void {
    this.#parts.notifier.recover();
    this.#parts.followers.recount();
  }

  learn({ report, gone, closed, openedOn, hasTurned }: FleetNews, now: number): void {
    const { dispatch, facts, notifier, handlers } = this.#parts;
    dispatch.withdraw(closed);
    for (const { hostId } of gone) if (!facts.hasWorkerOn(hostId)) notifier.closeWaitersOf(hostId);
    // Their agents may have offered slots before it was known whose these are.
    if (hasTurned) this.lookAgain();
    else for (const hostId of openedOn) this.#wake(hostId);
    handlers.rescueFromLostWorkers(new Set(report.workers.map(({ workerId }) => workerId)), now);
  }

  /** Gives queued jobs to the agents that wait in the object, and notifies those that wait on channels. */
  settle(now: number): void {
    const { dispatch, storage, queue, handlers, notifier } = this.#parts;
    const slots = dispatch.takeSlots(storage.claimable);
    const claims = queue.claim(slots, now, ANSWER_INPUTS_MAX_BYTES);
    for (const [index, slot] of slots.entries()) {
      const claimed = claims[index];
      if (claimed) slot.give(handlers.claimOf(claimed, claimed.request), claimed.seq);
      else slot.putBack();
    }
    dispatch.flush();
    notifier.notifyAgentsOfJobs(storage.claimable);
    for (const seq of handlers.takeStreamed()) notifier.notifyStream(seq, now);
  }

  jobSettled(seq: number, now: number): void {
    this.#parts.handlers.forget(seq);
    this.#parts.notifier.notifyJob(seq, now);
  }

  purged(now: number): void {
    this.#parts.notifier.notifyAllJobs(now);
  }

  jobRequeued(seq: number): void {
    this.#parts.handlers.forget(seq);
  }

  handlerStopped(hostId: string): void {
    this.#parts.handlers.markStopPending(hostId);
    this.#wake(hostId);
  }

  #wake(hostId: string): void {
    this.#parts.dispatch.wake(hostId);
    this.#parts.notifier.notifyAgent(hostId);
  }
}

function superseded(): ExchangeReply {
  return { kind: "superseded", at: Date.now() };
}

/** The end of a wait, with the acknowledgements that the call must bring back in any case. */
function withAcks({ acks, chunkAcks }: ExchangeAnswer, end: ExchangeReply): ExchangeReply {
  if (acks.length + chunkAcks.length === 0 || end.kind === "unconfigured") return end;
  const answer = end.kind === "answer" ? end : { ...NOTHING, at: end.at };
  return { ...answer, kind: "answer", acks, chunkAcks };
}

function isEmptyAnswer({ acks, chunkAcks, jobs, stops }: ExchangeAnswer): boolean {
  return acks.length + chunkAcks.length + jobs.length + stops.length === 0;
}
