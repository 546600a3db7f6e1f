/** What holds of the jobs that agents are answered with. */
import type { ExchangeCall, ExchangeReply } from "../../../src/endpoint/messages.ts";
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { CallOutcome, SimulatedObject } from "../runtime/objects.ts";
import type { World } from "../world/world.ts";
import { openJobs } from "./endpoint-rows.ts";

type Given = { readonly at: number; readonly turn: number; readonly seq: number; readonly workerId: string };

export class Exchanges {
  readonly #world: World;
  readonly #edge: SimulatedEdge;
  readonly #violate: (what: string) => void;
  /** By session of an agent and endpoint: the jobs of its answers, as far as the object remembers them. */
  readonly #given = new WeakMap<object, Map<string, Map<number, Given>>>();
  readonly #watched = new Set<SimulatedObject>();

  constructor(world: World, edge: SimulatedEdge, violate: (what: string) => void) {
    this.#world = world;
    this.#edge = edge;
    this.#violate = violate;
  }

  checkStep(): void {
    const { objects } = this.#edge.endpoints;
    if (objects.size === this.#watched.size) return;
    for (const object of objects.values()) {
      this.#watched.add(object);
      object.onResult = (outcome) => {
        if (outcome.method === "exchange") this.#check(object, outcome);
      };
    }
  }

  /** A slot is not given away again while the answer that gave it away is on its way, as the agent says. */
  #check({ instance, storage }: SimulatedObject, { values, result, receivedAt }: CallOutcome): void {
    const [call] = values as [ExchangeCall];
    const reply = result as ExchangeReply;
    if (!instance || reply.kind !== "answer" || reply.jobs.length === 0) return;
    const sessions = this.#given.get(instance) ?? new Map<string, Map<number, Given>>();
    const before = sessions.get(call.session) ?? new Map<number, Given>();
    this.#given.set(instance, sessions.set(call.session, before));
    const { running } = openJobs(storage);
    const isRunning = ({ seq, workerId }: Given): boolean =>
      running.some((job) => job.seq === seq && job.workerId === workerId);
    const own = reply.jobs.map(({ jobId, workerId }): Given => {
      return { at: this.#world.now, turn: call.turn, seq: decodeJobId(jobId)?.seq ?? 0, workerId };
    });
    for (const given of own) before.set(given.seq, given);
    const underway = [...before.values()].filter(
      (given) => given.at < receivedAt && call.openTurns.includes(given.turn) && isRunning(given),
    );
    for (const { workerId, free } of call.slots) {
      const given = [...underway, ...own].filter((one) => one.workerId === workerId).length;
      if (given > free) this.#violate(`worker ${workerId} offered ${free} slots, and has got ${given} jobs`);
    }
  }
}
