/** A client of OpenAI's API on an endpoint with a queue: each call is a job of its own, and belongs to its client. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { readingPace, serverEvents } from "./server-events.ts";

/** The last end of a job. */
export type JobEnd = {
  /** True time, ms of the history. */
  readonly at: number;
  readonly state: string;
  readonly input: string;
  readonly output: string | null;
};

export type OpenaiUserParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  /** Of all jobs that have ended. */
  readonly ends: () => Iterable<JobEnd>;
  /** Of the execution with the mark. */
  readonly jobOfMark: (mark: number) => string | undefined;
  readonly hasPlatformFaults: boolean;
  /** What clients and the edge say to each other may come late. */
  readonly hasDelays: boolean;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

type Body = { readonly model: string; readonly number: number; readonly stream?: boolean };
type Call = { readonly route: string; readonly body: Body; jobId: string | null };
/** What the workers of these histories answer and yield. */
type Output = { readonly of: { readonly openai_route: string; readonly openai_input: unknown } };
type Chunk = { readonly mark: number; readonly number: number };

const ROUTES = ["/v1/chat/completions", "/v1/completions", "/v1/unknown"];
const STREAMED = 0.6;
/** For how long a client waits, typically. */
const PATIENCE_MS: readonly number[] = [1_000, 20_000, 100_000];
const PATIENCE_MAX_MS = 110_000;
/** The job of a client that has left ends within this time, where nothing delays that. */
const CANCELLED_MS = 2_000;

export class OpenaiUser {
  readonly #parts: OpenaiUserParts;
  /** Calls whose clients have left before the answer was complete. */
  readonly #left: { readonly number: number; readonly at: number }[] = [];

  constructor(parts: OpenaiUserParts) {
    this.#parts = parts;
  }

  async call(endpointId: string): Promise<void> {
    const { client, world } = this.#parts;
    const { random } = world;
    const isStream = random.chance(STREAMED);
    const body = { model: "m", number: random.whole(0, 1e9), ...(isStream && { stream: true }) };
    const call: Call = { route: random.pick(ROUTES), body, jobId: null };
    const gone = new AbortController();
    const leave = (): void => {
      this.#left.push({ number: body.number, at: world.elapsedMs });
      gone.abort();
    };
    const timer = setTimeout(leave, Math.min(PATIENCE_MAX_MS, random.delay(random.pick(PATIENCE_MS))));
    try {
      const headers = { "content-type": "application/json", accept: "text/event-stream" };
      const init = { method: "POST", headers, body: JSON.stringify(body), signal: gone.signal };
      const response = await client.open(`/v2/${endpointId}/openai${call.route}`, init);
      call.jobId = response.headers.get("x-request-id");
      if (response.status !== 200) this.#checkError(response.status, await response.text());
      else if (isStream) await this.#readEvents(call, response, gone.signal);
      else this.#checkWhole(call, await response.text());
    } catch {
      // It broke off, or the client has left.
    } finally {
      clearTimeout(timer);
    }
  }

  /** When all is over: the job of a client that has left was cancelled, unless it had ended before. */
  check(): void {
    const { hasDelays, violate } = this.#parts;
    if (hasDelays || this.#left.length === 0) return;
    for (const { number, at } of this.#left) {
      const end = this.#endOf(number);
      if (end && end.at > at + CANCELLED_MS)
        violate(`the job of an OpenAI client that left at ${at} ms ended at ${end.at} ms as ${end.state}`);
    }
  }

  #checkError(status: number, text: string): void {
    const { violate, hasPlatformFaults } = this.#parts;
    const { error } = (parsed(text) ?? {}) as {
      readonly error?: { readonly message?: unknown; readonly code?: unknown };
    };
    if (typeof error?.message !== "string") violate(`an OpenAI client got ${status}: ${text.slice(0, 200)}`);
    if (error?.code === "internal" && !hasPlatformFaults) violate(`an OpenAI client got ${status}: ${text}`);
  }

  #checkWhole({ route, body }: Call, text: string): void {
    const { of } = (parsed(text) ?? {}) as Partial<Output>;
    const isOwn = of?.openai_route === route && JSON.stringify(of.openai_input) === JSON.stringify(body);
    if (!isOwn)
      this.#parts.violate(
        `an OpenAI client got another answer to ${JSON.stringify(body)}: ${text.slice(0, 200)}`,
      );
  }

  /** Its own chunks, all of one attempt, each once and in order; then the word that ends them, or an error. */
  async #readEvents(call: Call, response: Response, gone: AbortSignal): Promise<void> {
    const { violate, world } = this.#parts;
    const chunks: Chunk[] = [];
    let end: "whole" | "error" | undefined;
    const body = response.body ?? new ReadableStream();
    for await (const { data } of serverEvents(body, gone, readingPace(world.random))) {
      if (data === undefined) continue;
      if (end !== undefined) violate(`an OpenAI client got more after the end of its answer: ${data}`);
      if (data === "[DONE]") end = "whole";
      else if (data.startsWith('{"error"')) end = "error";
      else if (data.startsWith('{"of"')) this.#checkWhole(call, data);
      else this.#takeChunk(call, chunks, JSON.parse(data) as Chunk);
    }
    if (gone.aborted) return;
    if (end === undefined)
      violate(`the answer to ${JSON.stringify(call.body)} ends without a word after ${chunks.length} chunks`);
    if (end === "whole") this.#checkCount(call, chunks);
  }

  #takeChunk({ jobId, body }: Call, chunks: Chunk[], chunk: Chunk): void {
    const { violate, jobOfMark } = this.#parts;
    const last = chunks.at(-1) ?? { mark: chunk.mark, number: -1 };
    chunks.push(chunk);
    if (chunk.mark !== last.mark || chunk.number !== last.number + 1)
      violate(`an OpenAI client got the chunk ${JSON.stringify(chunk)} after ${JSON.stringify(last)}`);
    const owner = jobOfMark(chunk.mark);
    if (owner !== jobId)
      violate(`an OpenAI client got a chunk of ${owner} as answer to ${JSON.stringify(body)} by ${jobId}`);
  }

  /** What ends as a whole answer is that of a job that was completed, with all that its attempt has yielded. */
  #checkCount({ jobId, body }: Call, chunks: readonly Chunk[]): void {
    const { violate } = this.#parts;
    const end = this.#endOf(body.number);
    if (!end) return; // its row is gone
    if (end.state !== "completed")
      violate(`the answer of ${jobId} ends as a whole, and the job is ${end.state}`);
    if (chunks.length === 0 || !end.output?.startsWith("{")) return; // it is in R2
    const { chunkCount } = JSON.parse(end.output) as { readonly chunkCount: number };
    if (chunkCount !== chunks.length)
      violate(
        `the answer of ${jobId} to ${JSON.stringify(body)} has ${chunks.length} chunks of ${chunkCount}`,
      );
  }

  #endOf(number: number): JobEnd | undefined {
    const isOwn = new RegExp(`"number":${number}\\b`);
    return [...this.#parts.ends()].find(({ input }) => isOwn.test(input));
  }
}

function parsed(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
