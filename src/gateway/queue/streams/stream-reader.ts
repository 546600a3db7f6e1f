/** Reads the stream of a job from a position, which every call passes, so no state needs to survive. */
import type {
  ChunkRun,
  RateLimited,
  ReadStreamOutcome,
  Reply,
  SlotRef,
  Unconfigured,
} from "../../../endpoint/messages.ts";
import { shardOfJob } from "../../../contract/job.ts";
import { elementsOf } from "../../../json/raw-json.ts";
import { awaitWakeUp } from "../../wake-up.ts";
import { endpointObject } from "../../../management/objects.ts";
import type { QueueContext } from "../context.ts";
import { callAboutJob, slotQuery } from "../limits.ts";

export type StreamRead = Exclude<Reply<ReadStreamOutcome>, Unconfigured | RateLimited>;

export type StreamChunk = {
  readonly position: number;
  readonly attempt: number;
  /** As polls get it: `{"output":…}`, with the output as the worker sent it. */
  readonly wire: string;
};

const WIRE_HEAD = '{"output":';

/** The output of a chunk, as the worker sent it. */
export function outputOf({ wire }: StreamChunk): string {
  return wire.slice(WIRE_HEAD.length, -1);
}

export class StreamReader {
  readonly jobId: string;
  readonly #context: QueueContext;
  #position: number;
  /** The slot of this request between its reads. */
  #slot: SlotRef | null;

  /** Reads after `position`. Without a slot the first read counts as a request. */
  constructor(
    context: QueueContext,
    jobId: string,
    from: { readonly position: number; readonly slot: SlotRef | null },
  ) {
    this.#context = context;
    this.jobId = jobId;
    this.#position = from.position;
    this.#slot = from.slot;
  }

  get isClientGone(): boolean {
    return this.#context.req.raw.signal.aborted;
  }

  async read(holdMs: number): Promise<StreamRead> {
    const previousSlot = this.#slot;
    const read = await callAboutJob(this.#context, this.jobId, (stub) =>
      stub.readStream(this.jobId, this.#position, holdMs, previousSlot),
    );
    this.#slot = read.kind === "found" ? read.slot : null;
    return read;
  }

  /** All chunks beyond the position, which moves on to the last of them. */
  take(runs: readonly ChunkRun[]): StreamChunk[] {
    const taken: StreamChunk[] = [];
    for (const { position, count, attempt, wire } of runs) {
      const chunks = count === 1 ? [wire] : elementsOf(`[${wire}]`);
      let at = position - count;
      for (const chunk of chunks) {
        at += 1;
        if (at > this.#position) taken.push({ position: at, attempt, wire: chunk });
      }
      this.#position = position;
    }
    return taken;
  }

  /** Waits outside the object until there may be more, or `untilAt` has come. */
  async awaitMore(untilAt: number): Promise<void> {
    const { env, req } = this.#context;
    const { endpointId } = this.#context.get("endpoint");
    const object = endpointObject(env, endpointId, shardOfJob(this.jobId));
    const slot = this.#slot && slotQuery(this.#slot, untilAt);
    const channel = { stream: this.jobId, after: `${this.#position}`, ...slot };
    await awaitWakeUp(object, channel, untilAt, req.raw.signal);
  }
}
