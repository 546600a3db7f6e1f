/** The program in a container: takes jobs of its agent as workers of this kind of service do, and misbehaves as told. */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import type { World } from "../world/world.ts";
import type { Container, Containers } from "./containers.ts";
import { PIECE_BYTES } from "./printed-output.ts";
import { callLocal, type LocalCall, type LocalReply } from "./modules/http.ts";

export type WorkerFaults = {
  /** Typical time of a handler, ms. */
  readonly handlerMs: number;
  /** Shares of handlers that yield chunks, and that have a result which goes to R2. */
  readonly streaming: number;
  readonly large: number;
  /** Its handler fails. */
  readonly fails: number;
  /** It dies while it has a job. */
  readonly dies: number;
  /** Its handler never ends. */
  readonly hangs: number;
  /** It reports a result twice. */
  readonly repeats: number;
  /** It loses a result that it should report. */
  readonly forgets: number;
  /** It reads a reply slowly, and may give up. */
  readonly stalls: number;
  /** Its handler prints more than it may. */
  readonly floods: number;
};

/**
 * What an observer learns of a job in a worker, whether the agent does or not. Results, errors and chunks carry the mark
 * of their execution.
 */
export type WorkerObserver = {
  /** `readMs`: how long it has read the reply with the job. */
  readonly began: (jobId: string, container: Container, mark: number, readMs: number) => void;
  /** Its handler has ended; its result is reported now, unless the worker has lost it. */
  readonly ended: (jobId: string, container: Container, isReported: boolean) => void;
  /** What its handler returns, or says when it reports once more, under the mark. */
  readonly returned: (jobId: string, mark: number, output: object) => void;
  /** Its agent has taken its result. */
  readonly delivered: (jobId: string, container: Container) => void;
  /** It reports once more, with a result of another mark, though its agent has taken the first. */
  readonly repeated: (mark: number, other: number) => void;
  /** The disk of their host had kept to itself what came then or later. */
  readonly resultsLost: (containers: Iterable<Container>, since: number) => void;
  /** Its agent ends it. */
  readonly stopped: (container: Container) => void;
};

/** Images that are named so have a program which ends at once. */
export const BROKEN_IMAGE = "broken";

type GivenJob = { readonly id: string; readonly input: unknown; readonly s3Config?: unknown };

const RETRY_MS = 500;
const ENDS_MS = 50;
const PING_MS = 4_000;
const STALL_MAX_MS = 3_000;
/** Typical time after a chunk. */
const CHUNK_MS = 20;
const LONG_LINES = 0.02;
/** More than twice what a worker may print at once. */
const FLOOD_LINES = 300;
const FLOOD_LINE_LENGTH = 15_000;

export type WorkerProgram = {
  readonly world: World;
  readonly containers: Containers;
  readonly faults: (spec: WorkerSpec) => WorkerFaults;
  /** Jobs that it has at once. */
  readonly jobsPerWorker: number;
  readonly observer: WorkerObserver;
};

/** Runs until its machine crashes. */
export function runWorker(program: WorkerProgram, container: Container): void {
  if (container.spec.imageName.startsWith(BROKEN_IMAGE)) {
    container.output?.print("cannot start", { stream: "stderr" });
    setTimeout(() => program.containers.exit(container, 1), program.world.random.delay(ENDS_MS));
  } else new SimulatedWorker(program, container).start();
}

class SimulatedWorker {
  readonly #program: WorkerProgram;
  readonly #container: Container;
  readonly #jobs = new Set<string>();

  constructor(program: WorkerProgram, container: Container) {
    this.#program = program;
    this.#container = container;
  }

  start(): void {
    this.#container.output?.print("starts");
    for (let count = 0; count < this.#program.jobsPerWorker; count += 1)
      setTimeout(() => void this.#take(), this.#program.world.random.delay(500));
    this.#ping();
  }

  async #take(): Promise<void> {
    const { world, faults } = this.#program;
    while (this.#container.isRunning) {
      const isStalled = world.random.chance(faults(this.#container.spec).stalls);
      const reading = isStalled
        ? { readMs: world.random.whole(100, STALL_MAX_MS), isReadWhole: world.random.chance(0.5) }
        : { readMs: 0 };
      let reads = 0;
      const onReplying = (): void => {
        reads = 1;
        this.#container.repliesRead += 1;
      };
      const reply = await this.#call({ method: "GET", path: this.#takePath(), ...reading, onReplying });
      this.#container.repliesRead -= reads;
      if (reply?.status === 200) await this.#work(JSON.parse(reply.body) as GivenJob, reading.readMs);
      else if (reply?.status !== 204) await pause(RETRY_MS);
    }
  }

  async #work({ id: jobId, input, s3Config }: GivenJob, readMs: number): Promise<void> {
    const { world, faults, observer, containers } = this.#program;
    const { workerId } = this.#container.spec;
    const { random } = world;
    const { handlerMs, streaming, large, fails, dies, hangs, repeats, forgets, floods } = faults(
      this.#container.spec,
    );
    world.note(this.#container.machine, `begins ${jobId}`);
    containers.noticed();
    const mark = random.whole(0, 1e9);
    observer.began(jobId, this.#container, mark, readMs);
    this.#jobs.add(jobId);
    this.#print(jobId, "begins");
    if (random.chance(floods)) this.#flood(jobId);
    await pause(1 + random.delay(handlerMs));
    if (random.chance(hangs)) await new Promise(() => {});
    const chunkCount = random.chance(streaming) ? random.whole(1, 5) : 0;
    const yieldedMax = random.chance(dies) ? random.whole(0, chunkCount) : Infinity;
    await this.#yield(jobId, mark, Math.min(chunkCount, yieldedMax));
    if (yieldedMax <= chunkCount) {
      this.#container.output?.print("Traceback", { jobId, stream: "stderr", isEnded: false });
      return containers.exit(this.#container, 1);
    }
    this.#print(jobId, "ends");
    const padding = random.chance(large) ? "x".repeat(300_000) : "";
    const output = { of: input, by: workerId, mark, chunkCount, padding, s3Config };
    observer.returned(jobId, mark, output);
    const body = random.chance(fails) ? { error: `The handler failed: ${mark}.` } : { output };
    const path = this.#path("RUNPOD_WEBHOOK_POST_OUTPUT").replace("$ID", jobId);
    const isReported = !random.chance(forgets);
    observer.ended(jobId, this.#container, isReported);
    const isTaken = isReported && (await this.#report(path, JSON.stringify(body)));
    if (isTaken) observer.delivered(jobId, this.#container);
    if (random.chance(repeats))
      await this.#report(path, JSON.stringify(isTaken ? this.#bodyAgain(jobId, body, output) : body));
    this.#jobs.delete(jobId);
  }

  /** The same body, or one that contradicts it. */
  #bodyAgain(jobId: string, body: object, output: { readonly mark: number }): object {
    const { observer, world } = this.#program;
    if (world.random.chance(0.5)) return body;
    const mark = world.random.whole(0, 1e9);
    observer.repeated(output.mark, mark);
    observer.returned(jobId, mark, { ...output, mark });
    return world.random.chance(0.3)
      ? { error: `The handler failed: ${mark}.` }
      : { output: { ...output, mark } };
  }

  async #yield(jobId: string, mark: number, count: number): Promise<void> {
    const path = this.#path("RUNPOD_WEBHOOK_POST_STREAM").replace("$ID", jobId);
    for (let number = 0; number < count; number += 1) {
      await this.#report(path, JSON.stringify({ output: { mark, number } }));
      this.#print(jobId, `has yielded ${number}`);
      await pause(this.#program.world.random.delay(CHUNK_MS));
    }
  }

  /** Until the agent answers; one that is away comes back. Returns whether it takes the body. */
  async #report(path: string, body: string): Promise<boolean> {
    this.#program.containers.noticed();
    for (let tries = 0; tries < 100; tries += 1) {
      const reply = await this.#call({ method: "POST", path, body });
      if (reply && reply.status < 500 && reply.status !== 429) return reply.status === 200;
      await pause(RETRY_MS);
    }
    return false;
  }

  /** A handler prints, itself or through its SDK. */
  #print(jobId: string, text: string): void {
    const { output } = this.#container;
    if (!output) return;
    const { random } = this.#program.world;
    const isLong = random.chance(LONG_LINES);
    output.print(isLong ? `${text} ${"x".repeat(random.whole(1, 2 * PIECE_BYTES))}` : text, {
      jobId,
      namesJob: !isLong && random.chance(0.4),
      stream: random.pick(["stdout", "stderr"]),
    });
  }

  #flood(jobId: string): void {
    const { output } = this.#container;
    if (!output) return;
    output.isFlooded = true;
    for (let left = FLOOD_LINES; left > 0; left -= 1)
      output.print(`floods ${"x".repeat(FLOOD_LINE_LENGTH)}`, { jobId });
  }

  /** What no handler prints: some lines at once now and then, with the address of its agent. */
  #murmur(): void {
    const { output, isFrozen } = this.#container;
    if (!output || isFrozen) return;
    const { random } = this.#program.world;
    if (random.chance(0.6)) return;
    for (let left = random.pick([1, 1, 2, 20]); left > 0; left -= 1)
      output.print(random.chance(0.3) ? `pings ${this.#path("RUNPOD_WEBHOOK_PING")}` : "waits");
  }

  #ping(): void {
    setTimeout(() => {
      this.#murmur();
      const ids = [...this.#jobs].join(",");
      void this.#call({ method: "GET", path: `${this.#path("RUNPOD_WEBHOOK_PING")}&job_id=${ids}` });
      this.#ping();
    }, PING_MS);
  }

  /** With several slots, a poll that says that nothing is in progress could be overtaken by one that brings a job. */
  #takePath(): string {
    const mayBeBusy = this.#program.jobsPerWorker > 1 || this.#jobs.size > 0;
    return `${this.#path("RUNPOD_WEBHOOK_GET_JOB")}&job_in_progress=${mayBeBusy ? 1 : 0}`;
  }

  #path(name: string): string {
    const { pathname, search } = new URL(this.#container.spec.env[name] ?? "http://127.0.0.1:1/");
    return pathname + search;
  }

  #call(call: LocalCall): Promise<LocalReply | null> {
    const { world } = this.#program;
    const { machine, spec, connections } = this.#container;
    const { life } = machine;
    const port = Number(new URL(spec.env["RUNPOD_WEBHOOK_GET_JOB"] ?? "http://127.0.0.1:1").port);
    return new Promise((resolve) => {
      const connection = { end: (): void => {} };
      connections.add(connection);
      const answer = (reply: LocalReply | null): void => {
        connections.delete(connection);
        if (call.method === "POST")
          world.note(
            machine,
            `got ${reply?.status ?? "no answer"} for POST ${call.path.replace(/^\/[^/]*/, "")}`,
          );
        if (machine.life === life)
          world.schedule(machine, 0, "worker gets a reply", () => this.#whenThawed(resolve, reply));
      };
      connection.end = callLocal(port, call, answer);
    });
  }

  /** A frozen container runs no instruction. */
  #whenThawed(resolve: (reply: LocalReply | null) => void, reply: LocalReply | null): void {
    if (!this.#container.isFrozen) return resolve(reply);
    this.#container.whenThawed.push(() => this.#whenThawed(resolve, reply));
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
