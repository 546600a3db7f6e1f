/** Large JSON bodies, read as they arrive: one value of them becomes a payload, the rest is parsed as usual. */
import { JsonCarver, type JsonPath } from "../contract/json-carver.ts";
import { JsonSyntaxError } from "../contract/json-tokens.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../contract/limits.ts";
import { ApiError } from "./api-error.ts";
import { notJson, parseJson } from "./body.ts";
import { PayloadUpload } from "./payload-upload.ts";
import type { MeasuredPayload } from "./payloads.ts";

export type IntakeTarget = {
  readonly bucket: R2Bucket;
  readonly key: string;
  /** Where the payload stands in the body. */
  readonly path: JsonPath;
  /** Length of the whole body; null when nobody knows. */
  readonly bodyBytes: number | null;
};

/**
 * Reads a body to its end. `judge` gets what is left of it, with null for the payload, and what it throws
 * refuses the body: then nothing stays in R2. A small payload does not go there at all.
 */
export async function takeIn<T>(
  chunks: AsyncIterable<Uint8Array>,
  target: IntakeTarget,
  judge: (rest: unknown) => T,
): Promise<{ readonly value: T; readonly payload: MeasuredPayload }> {
  const payload = new PayloadIntake(target);
  try {
    const value = judge(await carve(chunks, target.path, payload));
    return { value, payload: await payload.finish() };
  } catch (error) {
    await payload.abort();
    throw error instanceof JsonSyntaxError ? notJson(error.message) : error;
  }
}

async function carve(
  chunks: AsyncIterable<Uint8Array>,
  path: JsonPath,
  payload: PayloadIntake,
): Promise<unknown> {
  const carver = new JsonCarver(path);
  const rest = new RestText();
  for await (const chunk of chunks) {
    for (const { carved, bytes } of carver.scan(chunk)) {
      if (carved === null) rest.add(bytes);
      else if (carved === 0) await payload.write(bytes);
      else throw new ApiError("invalid_input", "input stands in the body more than once.");
    }
  }
  carver.end();
  return parseJson(rest.text());
}

/** What is left of a body is small, or the body is refused. */
class RestText {
  readonly #decoder = new TextDecoder();
  readonly #texts: string[] = [];
  #sizeBytes = 0;

  add(bytes: Uint8Array): void {
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > INLINE_PAYLOAD_MAX_BYTES) {
      throw new ApiError(
        "payload_too_large",
        `What stands beside input has more than ${INLINE_PAYLOAD_MAX_BYTES} bytes. Send data in input.`,
      );
    }
    this.#texts.push(this.#decoder.decode(bytes, { stream: true }));
  }

  text(): string {
    return this.#texts.join("") + this.#decoder.decode();
  }
}

/** A payload on its way: kept here while it is small, in R2 from then on. */
class PayloadIntake {
  readonly #target: IntakeTarget;
  #head: Uint8Array[] = [];
  #sizeBytes = 0;
  #upload: PayloadUpload | undefined;

  constructor(target: IntakeTarget) {
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
    if (!this.#upload) return { kind: "inline", json: textOf(this.#head), sizeBytes };
    await this.#upload.finish();
    return { kind: "stored", key: this.#target.key, sizeBytes };
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

function textOf(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}
