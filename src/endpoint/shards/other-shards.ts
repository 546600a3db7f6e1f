/** What the other objects of an endpoint have to do, summed up for scaling and metrics. */
import { earliest } from "../../std/earliest.ts";
import type { ShardLoad } from "./messages.ts";
import type { KnownLoad, ShardCalls } from "./shard-calls.ts";
import type { WorkerLending } from "./worker-lending.ts";

type Sum = {
  readonly waiting: number;
  readonly running: number;
  readonly normal: { readonly waiting: number; readonly running: number };
  readonly oldestQueuedAt: number | null;
  readonly ended: ShardLoad["ended"];
};

const NOTHING: Sum = {
  waiting: 0,
  running: 0,
  normal: { waiting: 0, running: 0 },
  oldestQueuedAt: null,
  ended: { completed: 0, failed: 0, retried: 0 },
};
const NONE: ReadonlyMap<string, number> = new Map();

export class OtherShards {
  readonly #calls: Pick<ShardCalls, "loads">;
  readonly #lending: Pick<WorkerLending, "busy" | "takeReturned">;
  #summed: { readonly loads: object; readonly sum: Sum } | null = null;

  constructor(calls: Pick<ShardCalls, "loads">, lending: Pick<WorkerLending, "busy" | "takeReturned">) {
    this.#calls = calls;
    this.#lending = lending;
  }

  get waiting(): number {
    return this.#sum.waiting;
  }

  get running(): number {
    return this.#sum.running;
  }

  get normal(): Sum["normal"] {
    return this.#sum.normal;
  }

  get oldestQueuedAt(): number | null {
    return this.#sum.oldestQueuedAt;
  }

  get ended(): Sum["ended"] {
    return this.#sum.ended;
  }

  /** Workers that serve other objects, with their jobs; 1 for one without. */
  get busy(): ReadonlyMap<string, number> {
    return this.#lending.busy;
  }

  /** Workers that have jobs of other objects, and how many. */
  get working(): ReadonlyMap<string, number> {
    const { loads } = this.#calls;
    return loads.size === 0 ? NONE : new Map([...loads.values()].flatMap(({ jobsOf }) => [...jobsOf]));
  }

  takeReturned(): readonly (readonly [workerId: string, freeSinceAt: number])[] {
    return this.#lending.takeReturned();
  }

  get #sum(): Sum {
    const { loads } = this.#calls;
    if (loads.size === 0) return NOTHING;
    if (this.#summed?.loads !== loads)
      this.#summed = { loads, sum: [...loads.values()].reduce(plus, NOTHING) };
    return this.#summed.sum;
  }
}

function plus(sum: Sum, { waiting, running, oldestQueuedAt, ended }: KnownLoad): Sum {
  return {
    waiting: sum.waiting + waiting.normal + waiting.low,
    running: sum.running + running.normal + running.low,
    normal: { waiting: sum.normal.waiting + waiting.normal, running: sum.normal.running + running.normal },
    oldestQueuedAt: earliest([sum.oldestQueuedAt, oldestQueuedAt]),
    ended: {
      completed: sum.ended.completed + ended.completed,
      failed: sum.ended.failed + ended.failed,
      retried: sum.ended.retried + ended.retried,
    },
  };
}
