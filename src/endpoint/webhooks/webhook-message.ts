/** The body of a webhook: the ended job as status shows it, with its input and the webhook's URL. */
import { ignoreFailure } from "../../std/errors.ts";
import type { JobCost, JobRequest } from "../../contract/job.ts";
import { costOfJob } from "../../domain/costs/job-cost.ts";
import type { Payload, StoredJob } from "../../domain/jobs/job-machine.ts";
import { viewJob } from "../../domain/jobs/job-view.ts";
import { timelineOf, UNKNOWN_TIMES } from "../../domain/jobs/timeline.ts";
import { openPayload, type StoredPayload } from "../../durable/stored-payload.ts";
import { publicId, type QueueEntry, type WorkerRequest } from "../queue/job-store.ts";

export class WebhookMessage {
  readonly #bucket: R2Bucket;
  readonly #parts: readonly (Uint8Array | StoredPayload)[];

  constructor(bucket: R2Bucket, stored: QueueEntry, { input, optionsJson }: WorkerRequest, webhook: string) {
    const { job } = stored;
    const extras = { progress: null, queue: null, now: job.finishedAt ?? job.queuedAt };
    const { output, ...view } = { ...viewJob(publicId(stored), job, extras), ...costIn(optionsJson, job) };
    const head = JSON.stringify({ ...view, webhook }).slice(0, -1);
    // Null is omitted, as in status: the handler returned nothing.
    const hasOutput = output !== null && !(output.kind === "inline" && output.json === "null");
    const pieces = [`${head},"input":`, input, ...(hasOutput ? [',"output":', output] : []), "}"];
    this.#bucket = bucket;
    this.#parts = joined(pieces);
  }

  get sizeBytes(): number {
    return this.#parts.reduce(
      (sum, part) => sum + ("byteLength" in part ? part.byteLength : part.sizeBytes),
      0,
    );
  }

  /** The body, which can be read any number of times; throws when a payload is no longer there. */
  async *read(): AsyncGenerator<Uint8Array> {
    for (const part of this.#parts) {
      if ("byteLength" in part) yield part;
      else yield* this.#readStored(part);
    }
  }

  /** The body for a request; `stop` ends reading when the call is over. */
  open(): { readonly body: BodyInit; readonly stop: () => void } {
    const [only, ...others] = this.#parts;
    if (only && others.length === 0 && "byteLength" in only) return { body: only, stop: () => {} };
    // With a known length, since not every receiver takes a chunked body.
    const { readable, writable } = new FixedLengthStream(this.sizeBytes);
    const writer = writable.getWriter();
    // A failure here fails the request, which reports it.
    this.#writeTo(writer).catch((error: unknown) => writer.abort(error).catch(ignoreFailure));
    return { body: readable, stop: () => void writer.abort("The call is over.").catch(ignoreFailure) };
  }

  async #writeTo(writer: WritableStreamDefaultWriter<ArrayBuffer | ArrayBufferView>): Promise<void> {
    for await (const chunk of this.read()) await writer.write(chunk);
    await writer.close();
  }

  async *#readStored(payload: StoredPayload): AsyncGenerator<Uint8Array> {
    const bytes = await openPayload(this.#bucket, payload);
    if (!bytes) throw new Error("A payload of the job is no longer there.");
    yield* bytes;
  }
}

/** The cost of an ended job whose policy asks for it. */
function costIn(optionsJson: string, job: StoredJob): { readonly cost?: JobCost } {
  const { policy } = JSON.parse(optionsJson) as Pick<JobRequest, "policy">;
  if (policy?.cost !== true) return {};
  return { cost: costOfJob(timelineOf(job, UNKNOWN_TIMES), job.finishedAt ?? job.queuedAt) };
}

/** Adjacent strings become one part. */
function joined(pieces: readonly (string | Payload)[]): (Uint8Array | StoredPayload)[] {
  const parts: (Uint8Array | StoredPayload)[] = [];
  const encoder = new TextEncoder();
  let json = "";
  for (const piece of pieces) {
    if (typeof piece === "string") json += piece;
    else if (piece.kind === "inline") json += piece.json;
    else {
      parts.push(encoder.encode(json), piece);
      json = "";
    }
  }
  return [...parts, encoder.encode(json)];
}
