/** Bodies of OpenAI's requests: they become the input of a job as they are, with the route beside them. */
import { JsonCarver } from "../../../contract/json-carver.ts";
import { OPENAI_BODY_MAX_BYTES } from "../../../contract/limits.ts";
import type { Payload } from "../../../domain/job-machine.ts";
import { announcedLength, parseJson, readChunks } from "../../body.ts";
import { takeIn } from "../../payload-intake.ts";
import { freshPayloadKey } from "../../payloads.ts";
import { isSmall, type PayloadPlace } from "../job-request.ts";
import { wrongParameter } from "./openai-error.ts";

export type OpenaiInput = {
  /** In R2 when it is large; then the caller removes it if the job is refused. */
  readonly input: Payload;
  readonly isStream: boolean;
};

/** The input of a request without a body. */
export function bareInput(route: string): OpenaiInput {
  const json = JSON.stringify({ openai_route: route });
  return { input: { kind: "inline", json }, isStream: false };
}

/** Reads the body, which is refused when it is no JSON object. */
export function readInput(request: Request, route: string, place: PayloadPlace): Promise<OpenaiInput> {
  return isSmall(request) ? readSmall(request, route) : readLarge(request, route, place);
}

async function readSmall(request: Request, route: string): Promise<OpenaiInput> {
  const text = await request.text();
  const body = parseJson(text);
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw noObject();
  const isStream = judgeStream("stream" in body ? body.stream : undefined);
  // Its text, not the value: numbers stay as they were written.
  return { input: { kind: "inline", json: `${before(route)}${text}}` }, isStream };
}

async function readLarge(
  request: Request,
  route: string,
  { bucket, endpointId }: PayloadPlace,
): Promise<OpenaiInput> {
  const body = new WatchedBody(readChunks(request, OPENAI_BODY_MAX_BYTES));
  const frame = [before(route), "}"] as const;
  const length = announcedLength(request);
  const frameBytes = frame.reduce((sum, text) => sum + encoder.encode(text).byteLength, 0);
  const { value: isStream, payload } = await takeIn(
    framed(body.chunks(), frame),
    { bucket, key: freshPayloadKey(endpointId), path: [], bodyBytes: length && length + frameBytes },
    () => judgeStream(body.stream),
  );
  return { input: payload, isStream };
}

function before(route: string): string {
  return `{"openai_route":${JSON.stringify(route)},"openai_input":`;
}

async function* framed(
  chunks: AsyncIterable<Uint8Array>,
  [head, tail]: readonly [string, string],
): AsyncGenerator<Uint8Array> {
  yield encoder.encode(head);
  yield* chunks;
  yield encoder.encode(tail);
}

const OPEN_OBJECT = 0x7b;
const SPACE = 0x20;
/** Longer than any value that `stream` may have. */
const STREAM_MAX_BYTES = 16;
const STREAM_VALUES: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/** Makes sure that what passes is one JSON object, and notes its member `stream`. */
class WatchedBody {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #carver = new JsonCarver(["stream"]);
  #streamText: string | undefined;
  #streamCount: number | null = null;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** To be asked at the end. */
  get stream(): unknown {
    return this.#streamText && (STREAM_VALUES[this.#streamText] ?? this.#streamText);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    let isBegun = false;
    for await (const chunk of this.#chunks) {
      const first: number | undefined = isBegun ? undefined : chunk.find((byte) => byte > SPACE);
      if (first !== undefined && first !== OPEN_OBJECT) throw noObject();
      isBegun ||= first !== undefined;
      for (const { carved, bytes } of this.#carver.scan(chunk)) this.#note(carved, bytes);
      yield chunk;
    }
    this.#carver.end();
  }

  /** Of several members of one name the last one counts. */
  #note(count: number | null, bytes: Uint8Array): void {
    if (count === null) return;
    const before = count === this.#streamCount ? (this.#streamText ?? "") : "";
    this.#streamCount = count;
    this.#streamText = before + String.fromCharCode(...bytes.subarray(0, STREAM_MAX_BYTES - before.length));
  }
}

function judgeStream(stream: unknown): boolean {
  if (stream === undefined || stream === null) return false;
  if (typeof stream === "boolean") return stream;
  throw wrongParameter("stream", "stream must be true or false.");
}

function noObject() {
  return wrongParameter("body", "The body must be a JSON object, as OpenAI's clients send it.");
}

const encoder = new TextEncoder();
