/** What holds of the jobs that agents are answered with. */
import type { ExchangeCall, ExchangeReply } from "../../../src/endpoint/messages.ts";
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { SimulatedObject } from "../runtime/objects.ts";
import { endpointOf, openJobs } from "./endpoint-rows.ts";
import type { Executions } from "./executions.ts";

type Given = { readonly turn: number; readonly seq: number; readonly workerId: string };

export class Exchanges {
  readonly #edge: SimulatedEdge;
  readonly #executions: Executions;
  readonly #violate: (what: string) => void;
  /** By session of an agent and endpoint: the jobs of its answers, as far as the object remembers them. */
  readonly #given = new WeakMap<object, Map<string, Given[]>>();
  readonly #watched = new Set<SimulatedObject>();

  constructor(edge: SimulatedEdge, executions: Executions, violate: (what: string) => void) {
    this.#edge = edge;
    this.#executions = executions;
    this.#violate = violate;
  }

  checkStep(): void {
    const { objects } = this.#edge.endpoints;
    if (objects.size === this.#watched.size) return;
    for (const object of objects.values()) {
      this.#watched.add(object);
      object.onResult = (method, [call], result) => {
        if (method === "exchange") this.#check(object, call as ExchangeCall, result as ExchangeReply);
      };
    }
  }

  /** A slot is not given away again while the answer that gave it away is on its way, as the agent says. */
  #check({ name, instance, storage }: SimulatedObject, call: ExchangeCall, reply: ExchangeReply): void {
    if (!instance || reply.kind !== "answer" || reply.jobs.length === 0) return;
    const sessions = this.#given.get(instance) ?? new Map<string, Given[]>();
    this.#given.set(instance, sessions.set(call.session, sessions.get(call.session) ?? []));
    const before = sessions.get(call.session) ?? [];
    const { running } = openJobs(storage);
    // A call may be overtaken by one that lists what it takes to be on its way.
    const isOnItsWay = ({ seq, workerId }: Given): boolean =>
      running.some(
        (job) =>
          job.seq === seq &&
          job.workerId === workerId &&
          !this.#executions.hasBegun(endpointOf(name), seq, job.startedAt),
      );
    const underway = before.filter((given) => call.openTurns.includes(given.turn) && isOnItsWay(given));
    for (const { jobId, workerId } of reply.jobs)
      before.push({ turn: call.turn, seq: decodeJobId(jobId)?.seq ?? 0, workerId });
    for (const { workerId, free } of call.slots) {
      const given = [...underway, ...reply.jobs].filter((one) => one.workerId === workerId).length;
      if (given > free) this.#violate(`worker ${workerId} offered ${free} slots, and has got ${given} jobs`);
    }
  }
}
