/** The doorbells of an Endpoint object: clients that wait for a job, agents that wait for work. */
import { Doorbells } from "../durable/doorbells.ts";
import type { LimitedOperation } from "../contract/rate-limits.ts";
import type { SlotRef } from "./messages.ts";
import type { RequestLimits } from "./request-limits.ts";

/** An agent that waits, and how many jobs it could take. */
export type AgentWaiter = {
  readonly hostId: string;
  readonly session: string;
  readonly turn: number;
  readonly free: number;
};

/** A client that waits for a job, or for chunks of it. Its open socket is the slot of its request. */
export type JobWaiter = {
  /** Undefined for a job that is not there. */
  readonly seq: number | undefined;
  readonly slot: SlotRef;
  readonly untilAt: number;
};

export class EndpointBells {
  readonly #jobs: Doorbells<JobWaiter>;
  readonly #streams: Doorbells<JobWaiter>;
  readonly #agents: Doorbells<AgentWaiter>;
  readonly #limits: RequestLimits;

  constructor(context: DurableObjectState, limits: RequestLimits) {
    this.#limits = limits;
    this.#jobs = new Doorbells(context);
    this.#streams = new Doorbells(context);
    this.#agents = new Doorbells(context);
  }

  // Jobs

  /** After a loss of memory: the sockets know which requests wait. */
  recover(): void {
    for (const { waiter } of this.#jobs.find(ANY_JOB)) this.#holdSlot(waiter);
    for (const { waiter } of this.#streams.find(ANY_STREAM)) this.#holdSlot(waiter);
  }

  /** Waits for a job to end; one that has ended, or is none, rings at once. */
  openForJob(waiter: JobWaiter, isUnderway: boolean): Response {
    const { response, ring } = this.#jobs.accept([ANY_JOB, jobTag(waiter.seq ?? 0)], waiter);
    if (isUnderway) this.#holdSlot(waiter);
    else ring("look");
    return response;
  }

  /** Waits for chunks of a job, or its end; rings at once when there is something to see. */
  openForStream(waiter: JobWaiter, isQuiet: boolean): Response {
    const { response, ring } = this.#streams.accept([ANY_STREAM, streamTag(waiter.seq ?? 0)], waiter);
    if (isQuiet) this.#holdSlot(waiter);
    else ring("look");
    return response;
  }

  ringStream(seq: number, now: number): void {
    this.#ring(this.#streams, streamTag(seq), now);
  }

  ringJob(seq: number, now: number): void {
    this.#ring(this.#jobs, jobTag(seq), now);
    this.ringStream(seq, now);
  }

  ringAllJobs(now: number): void {
    this.#ring(this.#jobs, ANY_JOB, now);
    this.#ring(this.#streams, ANY_STREAM, now);
  }

  /** To be told of every socket that closed. */
  closed(socket: WebSocket): void {
    const waiter = socket.deserializeAttachment() as JobWaiter | AgentWaiter | null;
    if (waiter && "slot" in waiter) this.#limits.slotsOf(waiter.slot.operation).hungUp(waiter.slot.id);
  }

  #ring(bells: Doorbells<JobWaiter>, tag: string, now: number): void {
    for (const { waiter, ring } of bells.find(tag)) {
      this.#limits.slotsOf(waiter.slot.operation).rung(waiter.slot.id, now);
      ring("look");
    }
  }

  #holdSlot({ slot, untilAt }: JobWaiter): void {
    this.#limits.slotsOf(slot.operation).waitOnBell(slot.id, untilAt);
  }

  // Agents

  openForAgent(agent: AgentWaiter, hasNews: boolean): Response {
    this.supersede(agent);
    const { response, ring } = this.#agents.accept([ANY_AGENT, agentTag(agent.hostId)], agent);
    if (hasNews) ring("look");
    return response;
  }

  /** Sends older waits of the same agent home. */
  supersede({ hostId, session, turn }: Pick<AgentWaiter, "hostId" | "session" | "turn">): void {
    for (const { waiter, ring } of this.#agents.find(agentTag(hostId))) {
      const isNewer = waiter.session === session && waiter.turn > turn;
      if (!isNewer) ring("superseded");
    }
  }

  /** Ends the waits of an agent that has no worker here: nobody may be there to take a job. */
  sendHome(hostId: string): void {
    for (const { ring } of this.#agents.find(agentTag(hostId))) ring("superseded");
  }

  ringAgent(hostId: string): void {
    this.#agents.ringAll(agentTag(hostId));
  }

  ringAllAgents(): void {
    this.#agents.ringAll(ANY_AGENT);
  }

  /** Rings for as many agents as so many jobs need. */
  ringForJobs(count: number): void {
    if (count === 0) return;
    let unserved = count;
    for (const { waiter, ring } of this.#agents.find(ANY_AGENT)) {
      if (unserved <= 0) return;
      if (waiter.free === 0) continue;
      unserved -= waiter.free;
      ring("look");
    }
  }
}

/** Reads `operation=…&slot=…&wait=…`, as the gateway writes it. */
export function readJobWaiter(query: URLSearchParams, seq: number | undefined, now: number): JobWaiter {
  const operation = query.get("operation") as LimitedOperation;
  const slot = { operation, id: query.get("slot") ?? "" };
  return { seq, slot, untilAt: now + Number(query.get("wait")) };
}

/** Reads `host=…&session=…&turn=…&free=…`, as the gateway writes it. */
export function readAgentQuery(query: URLSearchParams): AgentWaiter {
  return {
    hostId: query.get("host") ?? "",
    session: query.get("session") ?? "",
    turn: Number(query.get("turn")),
    free: Number(query.get("free")),
  };
}

const ANY_AGENT = "agent";
const ANY_JOB = "job";
const ANY_STREAM = "stream";

function agentTag(hostId: string): string {
  return `agent:${hostId}`;
}

function streamTag(seq: number): string {
  return `stream:${seq}`;
}

function jobTag(seq: number): string {
  return `job:${seq}`;
}
