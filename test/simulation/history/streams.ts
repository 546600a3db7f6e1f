/** What a client reads of the streams of jobs. */
import type { KnownJob, SimulatedClient } from "./client.ts";
import type { KnownJobs } from "./known-jobs.ts";

export type StreamsParts = {
  readonly client: SimulatedClient;
  readonly known: KnownJobs;
  /** Whether a job that has ended without chunks may still show those of the execution with the mark. */
  readonly mayHaveLeftChunks: (job: KnownJob, mark: number) => boolean;
  readonly violate: (what: string) => void;
};

type Chunk = { readonly output: { readonly mark: number; readonly number: number } };

const CALLS_MAX = 20;

export class Streams {
  readonly #parts: StreamsParts;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
  }

  async read(): Promise<void> {
    const job = this.#parts.known.any();
    if (!job) return;
    job.isStreamRead = true; // an answer that gets lost takes chunks with it
    await this.#next(job);
  }

  /** All chunks of the attempt that completed, in their order; for a stream that nobody has read before. */
  async check(job: KnownJob): Promise<void> {
    if (job.isStreamRead || job.output === undefined) return;
    const { violate, known } = this.#parts;
    const { mark, chunkCount } = JSON.parse(job.output as string) as { mark: number; chunkCount: number };
    const chunks = await this.#rest(job);
    if (!chunks) return;
    const own = chunks.filter(({ output }) => output.mark === mark);
    // What a lost attempt has yielded is there until another one yields something, or a client retries the job.
    const mayBeLeft = ({ output }: Chunk): boolean =>
      chunkCount === 0 && this.#parts.mayHaveLeftChunks(job, output.mark);
    if (!chunks.every((chunk) => own.includes(chunk) || mayBeLeft(chunk)))
      return violate(`the stream of ${job.jobId} has chunks of another attempt`);
    if (known.mayHaveExpired(job)) return;
    const numbers = own.map(({ output }) => output.number).join();
    const expected = Array.from({ length: chunkCount }, (_, number) => number).join();
    if (numbers !== expected)
      violate(`the stream of ${job.jobId} has the chunks ${numbers} instead of ${expected}`);
  }

  /** Undefined when the job is gone meanwhile: that of a runsync is not kept for long. */
  async #rest(job: KnownJob): Promise<readonly Chunk[] | undefined> {
    const chunks: Chunk[] = [];
    for (let calls = 0; calls < CALLS_MAX; calls += 1) {
      const next = await this.#next(job);
      if (!next) return undefined;
      if (next.length === 0) break;
      chunks.push(...next);
    }
    return chunks;
  }

  async #next({ endpointId, jobId }: KnownJob): Promise<readonly Chunk[] | undefined> {
    const answer = await this.#parts.client.call("GET", `/v2/${endpointId}/stream/${jobId}`);
    if (answer?.status !== 200) return undefined;
    return (answer.body["stream"] ?? []) as readonly Chunk[];
  }
}
