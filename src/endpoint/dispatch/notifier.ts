/** Notifies what waits at an Endpoint object, in it or on a wake-up channel: clients of jobs and streams, and agents. */
import { WakeUpChannels, Waiters } from "../../durable/waiters.ts";
import type { LimitedOperation } from "../../contract/rate-limits.ts";
import type { SlotRef } from "../messages.ts";
import type { RequestLimits } from "../limits/request-limits.ts";

/** A waiting agent, and how many jobs it could take. */
export type AgentWaiter = {
  readonly hostId: string;
  readonly session: string;
  readonly turn: number;
  readonly free: number;
};

/** What clients wait for: the end of a job, or chunks of its stream. */
const TOPICS = ["job", "stream"] as const;
export type Topic = (typeof TOPICS)[number];

/** A client that waits for a job, or for its chunks. The open socket is the slot of its request. */
export type JobWaiter = {
  /** Undefined for a job that does not exist. */
  readonly seq: number | undefined;
  readonly slot: SlotRef;
  readonly untilAt: number;
};

export class EndpointNotifier {
  /** Calls that wait for a moment, inside the object. */
  readonly #calls = { job: new Waiters<number, "look">(), stream: new Waiters<number, "look">() };
  readonly #clients: WakeUpChannels<JobWaiter>;
  readonly #agents: WakeUpChannels<AgentWaiter>;
  readonly #limits: RequestLimits;

  constructor(context: DurableObjectState, limits: RequestLimits) {
    this.#limits = limits;
    this.#clients = new WakeUpChannels(context);
    this.#agents = new WakeUpChannels(context);
  }

  // Jobs

  /** After a loss of memory: the open sockets are the waiting requests. */
  recover(): void {
    for (const topic of TOPICS) for (const { waiter } of this.#clients.find(topic)) this.#keepSlot(waiter);
  }

  /** Waits inside the object, for at most `holdMs`. */
  async wait(topic: Topic, seq: number, holdMs: number): Promise<void> {
    await this.#calls[topic].wait(seq, holdMs);
  }

  /** Opens the wake-up channel of a client; notifies it at once if there is nothing to wait for. */
  open(
    topic: Topic,
    query: URLSearchParams,
    seq: number | undefined,
    isWaiting: boolean,
    now: number,
  ): Response {
    const waiter = readJobWaiter(query, seq, now);
    const { response, notify } = this.#clients.accept([topic, `${topic}:${seq ?? 0}`], waiter);
    if (isWaiting) this.#keepSlot(waiter);
    else notify("look");
    return response;
  }

  /** A job has new chunks. */
  notifyStream(seq: number, now: number): void {
    this.#notify("stream", seq, now);
  }

  /** A job has ended. */
  notifyJob(seq: number, now: number): void {
    for (const topic of TOPICS) this.#notify(topic, seq, now);
  }

  notifyAllJobs(now: number): void {
    for (const topic of TOPICS) {
      this.#calls[topic].wakeAll("look");
      this.#notifyChannels(topic, now);
    }
  }

  /** To be called for every socket that closed. */
  closed(socket: WebSocket): void {
    const waiter = socket.deserializeAttachment() as JobWaiter | AgentWaiter | null;
    if (waiter && "slot" in waiter) this.#limits.slotsOf(waiter.slot.operation).closed(waiter.slot.id);
  }

  #notify(topic: Topic, seq: number, now: number): void {
    this.#calls[topic].wake(seq, "look");
    this.#notifyChannels(`${topic}:${seq}`, now);
  }

  #notifyChannels(tag: string, now: number): void {
    for (const { waiter, notify } of this.#clients.find(tag)) {
      this.#limits.slotsOf(waiter.slot.operation).notified(waiter.slot.id, now);
      notify("look");
    }
  }

  #keepSlot({ slot, untilAt }: JobWaiter): void {
    this.#limits.slotsOf(slot.operation).waitOnChannel(slot.id, untilAt);
  }

  // Agents

  openForAgent(agent: AgentWaiter, hasNews: boolean): Response {
    this.supersede(agent);
    const { response, notify } = this.#agents.accept([ANY_AGENT, agentTag(agent.hostId)], agent);
    if (hasNews) notify("look");
    return response;
  }

  /** Ends older waits of the same agent. */
  supersede({ hostId, session, turn }: Pick<AgentWaiter, "hostId" | "session" | "turn">): void {
    for (const { waiter, notify } of this.#agents.find(agentTag(hostId))) {
      const isNewer = waiter.session === session && waiter.turn > turn;
      if (!isNewer) notify("superseded");
    }
  }

  /** Ends the waits of other processes of the agent. */
  endOtherSessions({ hostId, session }: Pick<AgentWaiter, "hostId" | "session">): void {
    for (const { waiter, notify } of this.#agents.find(agentTag(hostId)))
      if (waiter.session !== session) notify("superseded");
  }

  /** Ends the waits of an agent that has no worker here, and so may not be there any longer. */
  closeWaitersOf(hostId: string): void {
    for (const { notify } of this.#agents.find(agentTag(hostId))) notify("superseded");
  }

  notifyAgent(hostId: string): void {
    this.#agents.notifyAll(agentTag(hostId));
  }

  notifyAllAgents(): void {
    this.#agents.notifyAll(ANY_AGENT);
  }

  /** Notifies as many agents as so many jobs need. */
  notifyAgentsOfJobs(count: number): void {
    if (count === 0) return;
    let unserved = count;
    for (const { waiter, notify } of this.#agents.find(ANY_AGENT)) {
      if (unserved <= 0) return;
      if (waiter.free === 0) continue;
      unserved -= waiter.free;
      notify("look");
    }
  }
}

/** Reads `operation=…&slot=…&wait=…`, as the gateway writes it. */
function readJobWaiter(query: URLSearchParams, seq: number | undefined, now: number): JobWaiter {
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

function agentTag(hostId: string): string {
  return `agent:${hostId}`;
}
