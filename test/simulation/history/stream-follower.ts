/** A client that follows the stream of a job by server-sent events, and goes on after its last event when they break off. */
import type { World } from "../world/world.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import { isFailed, type JobCalls } from "./job-calls.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { HistoryPlan } from "./plan.ts";
import { readingPace, type ServerEvent, serverEvents } from "./server-events.ts";

export type StreamFollowerParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly known: KnownJobs;
  readonly jobs: Pick<JobCalls, "retry">;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

type Chunk = { readonly mark: number; readonly number: number };

const CONNECTIONS_MAX = 6;
const AGAIN_MS = 200;
/** For how long a client stays, typically; it comes again. */
const STAY_MS: readonly number[] = [300, 3_000, 20_000];

export class StreamFollower {
  readonly #parts: StreamFollowerParts;
  readonly #job: KnownJob;
  readonly #stayMs: number;
  readonly #chunks: Chunk[] = [];
  #lastEventId = 0;
  #isOver = false;
  #isFailed = false;

  constructor(parts: StreamFollowerParts, job: KnownJob) {
    this.#parts = parts;
    this.#job = job;
    this.#stayMs = parts.world.random.pick(STAY_MS);
  }

  /** Until the stream has ended, or for long enough. */
  async follow(): Promise<void> {
    for (let count = 0; count < CONNECTIONS_MAX && !this.#isOver; count += 1) {
      if (count > 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      await this.#followOnce().catch(() => {}); // it broke off
      if (this.#isFailed && this.#parts.plan.isRetrying) await this.#retry();
    }
  }

  /** It goes on after its last event with what the job yields next. */
  async #retry(): Promise<void> {
    this.#isFailed = false;
    await this.#parts.jobs.retry(this.#job);
    this.#isOver = false;
  }

  async #followOnce(): Promise<void> {
    const { client, world } = this.#parts;
    const gone = new AbortController();
    const timer = setTimeout(() => gone.abort(), world.random.delay(this.#stayMs));
    const sentAt = world.elapsedMs;
    const resumed: Record<string, string> =
      this.#lastEventId === 0 ? {} : { "last-event-id": String(this.#lastEventId) };
    const headers = { accept: "text/event-stream", ...resumed };
    const { endpointId, jobId } = this.#job;
    try {
      const response = await client.open(`/v2/${endpointId}/stream/${jobId}`, {
        headers,
        signal: gone.signal,
      });
      if (response.status !== 200 || !response.body) {
        this.#isOver = response.status === 404; // it has expired
        return await response.body?.cancel();
      }
      const pace = readingPace(world.random);
      for await (const event of serverEvents(response.body, gone.signal, pace)) this.#take(event, sentAt);
    } finally {
      clearTimeout(timer);
    }
  }

  #take({ id, event, data }: ServerEvent, sentAt: number): void {
    if (data === undefined) return;
    if (id !== undefined)
      this.#takeChunk(Number(id), (JSON.parse(data) as { readonly output: Chunk }).output);
    else if (event === "status") this.#takeEnd(JSON.parse(data) as Record<string, unknown>, sentAt);
    if (event !== undefined) this.#isOver = true;
  }

  /** Chunks of an attempt come from its first one on, each once; no older attempt comes after it. */
  #takeChunk(id: number, chunk: Chunk): void {
    const { violate } = this.#parts;
    const { jobId } = this.#job;
    if (!(id > this.#lastEventId))
      violate(`the stream of ${jobId} goes on with ${id} after ${this.#lastEventId}`);
    this.#lastEventId = id;
    const last = this.#chunks.at(-1);
    const isNext = last?.mark === chunk.mark ? chunk.number === last.number + 1 : this.#isNew(chunk);
    this.#chunks.push(chunk);
    if (isNext) return;
    const shown = this.#chunks.map(({ mark, number }) => `${mark} ${number}`).join(", ");
    violate(`the events of the stream of ${jobId} bring the chunks ${shown}`);
  }

  #isNew({ mark, number }: Chunk): boolean {
    return number === 0 && this.#chunks.every((one) => one.mark !== mark);
  }

  /** The last event is what a status says; before it has come all that the attempt has yielded. */
  #takeEnd(body: Record<string, unknown>, sentAt: number): void {
    const { violate, known, world } = this.#parts;
    const job = this.#job;
    if (body["id"] !== job.jobId)
      return violate(`the stream of ${job.jobId} ends with ${JSON.stringify(body)}`);
    known.learn(job, { status: 200, body, used: undefined });
    const answer = { at: world.elapsedMs, status: String(body["status"]) };
    job.calls.push({ kind: "read", sentAt, answer });
    this.#isFailed = isFailed(job);
    if (body["status"] !== "COMPLETED") return;
    const { mark, chunkCount } = body["output"] as { readonly mark: number; readonly chunkCount: number };
    const count = this.#chunks.filter((chunk) => chunk.mark === mark).length;
    if (count !== chunkCount)
      violate(`the events of the stream of ${job.jobId} bring ${count} chunks of ${chunkCount}`);
  }
}
