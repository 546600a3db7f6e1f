/** JSON bodies of jobs, read as they arrive: one value becomes a payload, the rest is parsed. */
import { ByteBuffer } from "../json/byte-buffer.ts";
import { JsonCarver, type PathTree, type Piece } from "../json/json-carver.ts";
import { RawJson, putBack } from "../json/raw-json.ts";
import { JsonSyntaxError } from "../json/json-tokens.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../contract/limits.ts";
import { ServiceError } from "../contract/errors.ts";
import { toServiceError } from "./body.ts";
import { PayloadUpload } from "./payload-upload.ts";
import type { MeasuredPayload } from "./payloads.ts";

export type PayloadTarget = {
  readonly bucket: R2Bucket;
  readonly key: string;
  /** Length of the whole body; null when it is unknown. */
  readonly bodyBytes: number | null;
};

/** The index of the payload among the paths that are cut out of a body. */
const PAYLOAD_PATH = 0;
/** Stands for the payload in the rest of the body. */
const PAYLOAD = RawJson.of("null");

/**
 * Reads a body to its end. The first of `paths` is that of the payload. `validate` gets the rest, with the values at
 * the other paths as raw JSON; when it throws, the body is rejected and nothing stays in R2. A small payload is not
 * stored in R2 at all. An empty body is undefined.
 */
export async function ingestPayload<T>(
  chunks: AsyncIterable<Uint8Array>,
  paths: PathTree,
  target: PayloadTarget,
  validate: (rest: unknown) => T,
): Promise<{ readonly value: T; readonly payload: MeasuredPayload }> {
  return store(target, async (payload) => validate(await carve(chunks, paths, payload)));
}

/** Stores JSON that the producer of the chunks validates while it yields them. */
export async function storeWhole(
  chunks: AsyncIterable<Uint8Array>,
  target: PayloadTarget,
): Promise<MeasuredPayload> {
  const { payload } = await store(target, async (intake) => {
    for await (const chunk of chunks) await intake.write(chunk);
  });
  return payload;
}

async function store<T>(
  target: PayloadTarget,
  fill: (payload: PayloadWriter) => Promise<T>,
): Promise<{ readonly value: T; readonly payload: MeasuredPayload }> {
  const payload = new PayloadWriter(target);
  try {
    const value = await fill(payload);
    return { value, payload: await payload.finish() };
  } catch (error) {
    await payload.abort();
    throw error instanceof JsonSyntaxError ? toServiceError(error) : error;
  }
}

async function carve(
  chunks: AsyncIterable<Uint8Array>,
  paths: PathTree,
  payload: PayloadWriter,
): Promise<unknown> {
  const carver = new JsonCarver(paths);
  const beside = new RestOfBody();
  let payloadNumber: number | null = null;
  for await (const chunk of chunks) {
    for (const piece of carver.scan(chunk)) {
      beside.add(chunk, piece, piece.path === PAYLOAD_PATH);
      if (piece.path !== PAYLOAD_PATH) continue;
      payloadNumber ??= piece.carved;
      await payload.write(chunk.subarray(piece.from, piece.to));
    }
  }
  if (beside.isBlank) return undefined;
  carver.end();
  const values = beside.values();
  if (payloadNumber !== null) values[payloadNumber] = PAYLOAD;
  return putBack(beside.rest(), paths, values);
}

/** The rest of a body beside the payload; the body is rejected when it is large. */
class RestOfBody {
  readonly #rest = new ByteBuffer();
  readonly #values: ByteBuffer[] = [];
  #sizeBytes = 0;

  /** Adds a piece of `chunk`; of the payload only its number. */
  add(chunk: Uint8Array, { carved, isFirst, from, to }: Piece, isPayload: boolean): void {
    if (carved !== null && isFirst) this.#rest.addNumber(carved);
    if (isPayload) return;
    this.#sizeBytes += to - from;
    if (this.#sizeBytes > INLINE_PAYLOAD_MAX_BYTES) {
      throw new ServiceError(
        "payload_too_large",
        `The members beside input exceed ${INLINE_PAYLOAD_MAX_BYTES} bytes together. Send data in input.`,
      );
    }
    (carved === null ? this.#rest : (this.#values[carved] ??= new ByteBuffer())).add(chunk, from, to);
  }

  get isBlank(): boolean {
    return this.#rest.text().trim() === "";
  }

  rest(): string {
    return this.#rest.text();
  }

  values(): RawJson[] {
    return this.#values.map((value) => RawJson.of(value.text()));
  }
}

/** A payload that is being received: in memory while it is small, then in R2. */
class PayloadWriter {
  readonly #target: PayloadTarget;
  #head: Uint8Array[] = [];
  #sizeBytes = 0;
  #upload: PayloadUpload | undefined;

  constructor(target: PayloadTarget) {
    this.#target = target;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#sizeBytes += bytes.length;
    if (this.#upload) return this.#upload.write(bytes);
    this.#head.push(bytes);
    if (this.#sizeBytes > INLINE_PAYLOAD_MAX_BYTES) await this.#beginUpload();
  }

  async finish(): Promise<MeasuredPayload> {
    const sizeBytes = this.#sizeBytes;
    if (!this.#upload) return { kind: "inline", json: decodeChunks(this.#head), sizeBytes };
    const objectBytes = await this.#upload.finish();
    return { kind: "stored", key: this.#target.key, sizeBytes, objectBytes };
  }

  async abort(): Promise<void> {
    await this.#upload?.abort();
  }

  async #beginUpload(): Promise<void> {
    const { bucket, key, bodyBytes } = this.#target;
    this.#upload = new PayloadUpload(bucket, key, bodyBytes);
    const head = this.#head;
    this.#head = [];
    for (const bytes of head) await this.#upload.write(bytes);
  }
}

function decodeChunks(chunks: readonly Uint8Array[]): string {
  const [only] = chunks;
  const decoder = new TextDecoder();
  if (only && chunks.length === 1) return decoder.decode(only);
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}
