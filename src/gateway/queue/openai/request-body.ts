/** Bodies of OpenAI's requests: they become part of the input of a job byte for byte, beside the route. */
import { ServiceError } from "../../../contract/errors.ts";
import { JsonCarver, type Piece } from "../../../json/json-carver.ts";
import { cutsAt } from "../../../json/raw-json.ts";
import { OPENAI_BODY_MAX_BYTES } from "../../../contract/limits.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import { storeWhole } from "../../payload-ingest.ts";
import { bodyChunks, payloadTarget, type PayloadPlace } from "../jobs/job-request.ts";

export type OpenaiInput = {
  /** In R2 when it is large; then the caller removes it if the job is rejected. */
  readonly input: Payload;
  readonly isStream: boolean;
};

/** The input of a request without a body. */
export function bareInput(route: string): OpenaiInput {
  const json = JSON.stringify({ openai_route: route });
  return { input: { kind: "inline", json }, isStream: false };
}

/** Reads the body; throws invalid_input when it is not a JSON object. */
export async function readInput(request: Request, route: string, place: PayloadPlace): Promise<OpenaiInput> {
  const body = new WatchedBody(bodyChunks(request, OPENAI_BODY_MAX_BYTES));
  const head = encoder.encode(`{"openai_route":${JSON.stringify(route)},"openai_input":`);
  const target = payloadTarget(request, place);
  const bodyBytes = target.bodyBytes && target.bodyBytes + head.length + TAIL.length;
  const input = await storeWhole(framed(head, body), { ...target, bodyBytes });
  return { input, isStream: body.isStream };
}

/** The last piece follows the validation of the body, so a rejected one leaves nothing in R2. */
async function* framed(head: Uint8Array, body: WatchedBody): AsyncGenerator<Uint8Array> {
  yield head;
  yield* body.chunks();
  yield TAIL;
}

const encoder = new TextEncoder();
const TAIL = encoder.encode("}");
const STREAM = cutsAt(["stream"]);
const OPEN_OBJECT = 0x7b;
const SPACE = 0x20;
/** Longer than any value that `stream` may have. */
const STREAM_MAX_BYTES = 16;
const STREAM_VALUES = new Map<string | undefined, boolean>([
  ["true", true],
  ["false", false],
  ["null", false],
  [undefined, false],
]);

/** Validates that the chunks are one JSON object, and reads its member `stream`. */
class WatchedBody {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #carver = new JsonCarver(STREAM);
  #streamJson: string | undefined;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Valid after the last chunk; throws invalid_input for another value than a boolean. */
  get isStream(): boolean {
    const value = STREAM_VALUES.get(this.#streamJson);
    if (value === undefined) throw wrongParameter("stream", "stream must be true or false.");
    return value;
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    let isBegun = false;
    for await (const chunk of this.#chunks) {
      const first: number | undefined = isBegun ? undefined : chunk.find((byte) => byte > SPACE);
      if (first !== undefined && first !== OPEN_OBJECT) throw noObject();
      isBegun ||= first !== undefined;
      for (const piece of this.#carver.scan(chunk)) this.#track(chunk, piece);
      yield chunk;
    }
    if (!isBegun) throw noObject();
    this.#carver.end();
    void this.isStream;
  }

  /** The last of several members of one name counts. */
  #track(chunk: Uint8Array, { carved, isFirst, from, to }: Piece): void {
    if (carved === null) return;
    const before = isFirst ? "" : (this.#streamJson ?? "");
    const end = Math.min(to, from + STREAM_MAX_BYTES - before.length);
    this.#streamJson = before + String.fromCharCode(...chunk.subarray(from, end));
  }
}

function wrongParameter(param: string, message: string): ServiceError {
  return new ServiceError("invalid_input", message, { param });
}

function noObject(): ServiceError {
  return wrongParameter("body", "The body must be a JSON object, as OpenAI's clients send it.");
}
