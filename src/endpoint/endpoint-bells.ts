/** The doorbells of an Endpoint object: clients that wait for a job, agents that wait for work. */
import { Doorbells } from "../durable/doorbells.ts";

/** An agent that waits, and how many jobs it could take. */
export type AgentWaiter = {
  readonly hostId: string;
  readonly session: string;
  readonly turn: number;
  readonly free: number;
};

type JobWaiter = { readonly seq: number };

export class EndpointBells {
  readonly #jobs: Doorbells<JobWaiter>;
  readonly #agents: Doorbells<AgentWaiter>;

  constructor(context: DurableObjectState) {
    this.#jobs = new Doorbells(context);
    this.#agents = new Doorbells(context);
  }

  // Jobs

  /** Waits for a job to end; one that has ended, or is none, rings at once. */
  openForJob(seq: number | undefined, isUnderway: boolean): Response {
    const { response, ring } = this.#jobs.accept([ANY_JOB, jobTag(seq ?? 0)], { seq: seq ?? 0 });
    if (!isUnderway) ring("look");
    return response;
  }

  /** Waits for chunks of a job, or its end; rings at once when there is something to see. */
  openForStream(seq: number | undefined, isQuiet: boolean): Response {
    const tags = [ANY_JOB, jobTag(seq ?? 0), streamTag(seq ?? 0)];
    const { response, ring } = this.#jobs.accept(tags, { seq: seq ?? 0 });
    if (!isQuiet) ring("look");
    return response;
  }

  ringStream(seq: number): void {
    this.#jobs.ringAll(streamTag(seq));
  }

  ringJob(seq: number): void {
    this.#jobs.ringAll(jobTag(seq));
  }

  ringAllJobs(): void {
    this.#jobs.ringAll(ANY_JOB);
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

  ringAgent(hostId: string): void {
    this.#agents.ringAll(agentTag(hostId));
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

function agentTag(hostId: string): string {
  return `agent:${hostId}`;
}

function streamTag(seq: number): string {
  return `stream:${seq}`;
}

function jobTag(seq: number): string {
  return `job:${seq}`;
}
