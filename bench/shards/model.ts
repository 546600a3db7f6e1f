/**
 * How the throughput of an endpoint grows with its objects, and in which order jobs run: `node bench/shards/model.ts`.
 *
 * A model, in steps of a millisecond: each object takes CALLS_PER_SECOND, one after the other, and calls wait. Who serves
 * whom is decided by the code of the edge (src/domain/scaling/worker-loans.ts), on loads that are as old as messages
 * make them. A job costs a submission, an exchange and a status; workers that move offer their slot with a call.
 */
import { planLoans, type LoanWorker } from "../../src/domain/scaling/worker-loans.ts";
import { latencyOf } from "../load/percentiles.ts";

const CALLS_PER_SECOND = 400;
const CALLS_PER_JOB = 3;
const EXECUTION_MS = 1_000;
const WARM_UP_MS = 10_000;
const MEASURED_MS = 10_000;
const PLAN_EVERY_MS = 100;
const NEWS_EVERY_MS = 250;
const NEWS_EVERY_PER_SHARD_MS = 12;
/** A message between objects, and the way of a worker to another one. */
const HOP_MS = 10;
const MOVE_MS = 30;
const TERMS = { idleTimeoutMs: 60_000, isScarce: false };

type Call = () => void;
type Worker = {
  readonly id: string;
  shard: number;
  target: number;
  movedAt: number;
  freeSinceAt: number;
  isFree: boolean;
  isMoving: boolean;
};
type Load = {
  readonly waiting: number;
  readonly running: number;
  readonly oldest: number | null;
  readonly busy: ReadonlySet<string>;
};

/** Numbers that are the same in each run: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Shard {
  readonly calls: Call[] = [];
  /** When the jobs that wait were submitted. */
  readonly waiting: number[] = [];
  readonly free: Worker[] = [];
  running = 0;
  /** As the script knows it from its last answer. */
  knownQueued = 0;
  #credit = 0;
  #first = 0;

  serve(): number {
    this.#credit = Math.min(this.#credit + CALLS_PER_SECOND / 1_000, 1 + CALLS_PER_SECOND / 1_000);
    let served = 0;
    for (; this.#credit >= 1 && this.#first < this.calls.length; this.#credit -= 1) {
      this.calls[this.#first]?.();
      this.#first += 1;
      served += 1;
    }
    if (this.#first > 10_000) {
      this.calls.splice(0, this.#first);
      this.#first = 0;
    }
    return served;
  }
}

class Model {
  readonly #random = randomFrom(7);
  readonly #shards: Shard[];
  readonly #workers: Worker[];
  readonly #jobsPerMs: number;
  readonly #later = new Map<number, Call[]>();
  readonly #loads = new Map<number, Load>();
  #now = 0;
  #calls = 0;
  #ended = 0;
  #endedAtStart = 0;
  #callsAtStart = 0;
  readonly #waits: number[] = [];
  readonly #overtaken: number[] = [];

  constructor(shards: number, jobsPerSecond: number, workers: number) {
    this.#shards = Array.from({ length: shards }, () => new Shard());
    this.#jobsPerMs = jobsPerSecond / 1_000;
    this.#workers = Array.from({ length: workers }, (_, index) => ({
      id: `w${index}`,
      shard: index % shards,
      target: index % shards,
      movedAt: 0,
      freeSinceAt: 0,
      isFree: true,
      isMoving: false,
    }));
    for (const worker of this.#workers) this.#shards[worker.shard]?.free.push(worker);
  }

  run() {
    const newsEveryMs = NEWS_EVERY_MS + NEWS_EVERY_PER_SHARD_MS * this.#shards.length;
    for (; this.#now < WARM_UP_MS + MEASURED_MS; this.#now += 1) {
      if (this.#now === WARM_UP_MS) [this.#endedAtStart, this.#callsAtStart] = [this.#ended, this.#calls];
      for (const call of this.#later.get(this.#now) ?? []) call();
      this.#later.delete(this.#now);
      this.#arrive();
      for (const shard of this.#shards) this.#calls += shard.serve();
      for (let other = 1; other < this.#shards.length; other += 1)
        if ((this.#now + 37 * other) % newsEveryMs === 0) this.#sendNews(other);
      if (this.#shards.length > 1 && this.#now % PLAN_EVERY_MS === 0) this.#plan();
    }
    const ended = this.#ended - this.#endedAtStart;
    return {
      perSecond: (ended / MEASURED_MS) * 1_000,
      callsPerJob: (this.#calls - this.#callsAtStart) / ended,
      wait: this.#waits,
      overtaken: this.#overtaken,
    };
  }

  #after(ms: number, call: Call): void {
    const at = this.#now + ms;
    this.#later.set(at, [...(this.#later.get(at) ?? []), call]);
  }

  /** Jobs come at random, and go to the one of two objects in which fewer waited. */
  #arrive(): void {
    for (let left = this.#jobsPerMs; left > 0; left -= 1) {
      if (this.#random() >= left) continue;
      const [first, second] = [this.#anyShard(), this.#anyShard()];
      const shard = first.knownQueued <= second.knownQueued ? first : second;
      const submittedAt = this.#now;
      shard.calls.push(() => this.#submit(shard, submittedAt));
      this.#after(EXECUTION_MS / 2, () => shard.calls.push(() => {}));
    }
  }

  #anyShard(): Shard {
    return this.#shards[Math.floor(this.#random() * this.#shards.length)] ?? (this.#shards[0] as Shard);
  }

  #submit(shard: Shard, submittedAt: number): void {
    shard.waiting.push(submittedAt);
    this.#claim(shard);
    shard.knownQueued = shard.waiting.length;
  }

  #claim(shard: Shard): void {
    while (shard.waiting.length > 0 && shard.free.length > 0) {
      const [submittedAt = 0] = shard.waiting.splice(0, 1);
      const worker = shard.free.pop() as Worker;
      worker.isFree = false;
      shard.running += 1;
      if (this.#now >= WARM_UP_MS) this.#note(submittedAt);
      this.#after(EXECUTION_MS, () => shard.calls.push(() => this.#end(shard, worker)));
    }
  }

  #note(submittedAt: number): void {
    this.#waits.push(this.#now - submittedAt);
    const oldest = Math.min(...this.#shards.map(({ waiting }) => waiting[0] ?? Infinity));
    this.#overtaken.push(Math.max(0, submittedAt - oldest));
  }

  #end(shard: Shard, worker: Worker): void {
    shard.running -= 1;
    this.#ended += 1;
    worker.freeSinceAt = this.#now;
    if (worker.target === worker.shard) this.#offer(shard, worker);
    else this.#depart(worker);
  }

  #offer(shard: Shard, worker: Worker): void {
    worker.isFree = true;
    shard.free.push(worker);
    this.#claim(shard);
  }

  #depart(worker: Worker): void {
    worker.isMoving = true;
    this.#after(MOVE_MS, () => {
      worker.shard = worker.target;
      worker.isMoving = false;
      const shard = this.#shards[worker.shard] as Shard;
      shard.calls.push(() => this.#offer(shard, worker));
    });
  }

  /** A message to the first object, which asks in return. */
  #sendNews(other: number): void {
    const [lead, shard] = [this.#shards[0] as Shard, this.#shards[other] as Shard];
    this.#after(HOP_MS, () =>
      lead.calls.push(() =>
        this.#after(HOP_MS, () =>
          shard.calls.push(() => {
            const load = this.#loadOf(other);
            this.#after(HOP_MS, () => this.#loads.set(other, load));
          }),
        ),
      ),
    );
  }

  #loadOf(index: number): Load {
    const { waiting, running } = this.#shards[index] as Shard;
    const busy = this.#workers.filter(({ shard, isFree }) => shard === index && !isFree).map(({ id }) => id);
    return { waiting: waiting.length, running, oldest: waiting[0] ?? null, busy: new Set(busy) };
  }

  #plan(): void {
    this.#loads.set(0, this.#loadOf(0));
    const demands = [...this.#loads].map(([shard, { waiting, running, oldest }]) => {
      return { shard, waiting, running, oldestQueuedAt: oldest };
    });
    const workers = this.#workers.map((worker): LoanWorker => {
      const isBusy = this.#loads.get(worker.target)?.busy.has(worker.id) ?? false;
      const isMoving = worker.isMoving || worker.target !== worker.shard;
      const { id: workerId, target: shard, movedAt, freeSinceAt } = worker;
      return { workerId, shard, isMoving, jobs: isBusy ? 1 : 0, movedAt, freeSinceAt };
    });
    const byId = new Map(this.#workers.map((worker) => [worker.id, worker]));
    for (const { workerId, to } of planLoans(demands, workers, TERMS, this.#now)) {
      const worker = byId.get(workerId) as Worker;
      [worker.target, worker.movedAt] = [to, this.#now];
      if (!worker.isFree) continue;
      const { free } = this.#shards[worker.shard] as Shard;
      free.splice(free.indexOf(worker), 1);
      worker.isFree = false;
      this.#depart(worker);
    }
  }
}

const ONE = CALLS_PER_SECOND / CALLS_PER_JOB;

console.log("Full load: more jobs than the objects can take, and a worker for each.\n");
console.log("| objects | jobs/s | per object | calls per job |");
console.log("| ---: | ---: | ---: | ---: |");
for (const shards of [1, 2, 4, 8, 16, 32, 64]) {
  const jobsPerSecond = 1.2 * ONE * shards;
  const { perSecond, callsPerJob } = new Model(shards, jobsPerSecond, Math.ceil(jobsPerSecond)).run();
  console.log(
    `| ${shards} | ${perSecond.toFixed(0)} | ${(perSecond / shards).toFixed(1)} | ${callsPerJob.toFixed(2)} |`,
  );
}
console.log(
  "\nThree quarters of what they can take, and a fifth more workers than that needs: how long jobs wait, and by how much the oldest",
);
console.log("waiting job anywhere was older than the one that was claimed, in ms.\n");
console.log("| objects | calls per job | wait p50 | wait p99 | older p50 | older p99 | older at most |");
console.log("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
for (const shards of [1, 2, 4, 8, 16, 64]) {
  const jobsPerSecond = 0.75 * ONE * shards;
  const { wait, overtaken, callsPerJob } = new Model(
    shards,
    jobsPerSecond,
    Math.ceil(1.2 * jobsPerSecond),
  ).run();
  const [waits, ages] = [latencyOf(wait), latencyOf(overtaken)];
  const cells = [callsPerJob.toFixed(2), waits.p50, waits.p99, ages.p50, ages.p99, ages.max];
  console.log(`| ${shards} | ${cells.join(" | ")} |`);
}
