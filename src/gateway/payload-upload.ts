/**
 * Streams bytes into R2. R2 needs the length of a stream in advance, so each is padded with spaces, which are
 * insignificant after JSON.
 *
 * U1  There is no object before `finish`, and none after `abort`: the last byte of it is written by `finish`.
 */
import { ignoreFailure } from "../std/errors.ts";

/** The least size of a part in R2; all parts but the last must have the same. */
const PART_BYTES = 5 * 1024 * 1024;
const SPACES = new Uint8Array(64 * 1024).fill(0x20);

type Part = {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Settles when R2 has stored the part, or failed. */
  readonly stored: Promise<unknown>;
  leftBytes: number;
};

export class PayloadUpload {
  readonly #bucket: R2Bucket;
  readonly #key: string;
  readonly #maxBytes: number | null;
  #multipart: R2MultipartUpload | undefined;
  readonly #storedParts: R2UploadedPart[] = [];
  #part: Part | undefined;
  #writtenBytes = 0;

  /** At most `maxBytes` will be written; null when the length is unknown, which costs more calls to R2. */
  constructor(bucket: R2Bucket, key: string, maxBytes: number | null) {
    this.#bucket = bucket;
    this.#key = key;
    this.#maxBytes = maxBytes;
  }

  /** Resolves when R2 has received the bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#writtenBytes += bytes.length;
    for (let rest = bytes; rest.length > 0;) {
      const part = (this.#part ??= await this.#openPart());
      const piece = rest.subarray(0, part.leftBytes);
      rest = rest.subarray(piece.length);
      part.leftBytes -= piece.length;
      await Promise.race([part.writer.write(piece), part.stored]); // R2 may fail and stop reading
      if (part.leftBytes === 0) await this.#closePart(part);
    }
  }

  /** Returns the size of the object. */
  async finish(): Promise<number> {
    while (this.#part) await this.write(SPACES.subarray(0, this.#part.leftBytes));
    await this.#multipart?.complete(this.#storedParts);
    return this.#writtenBytes;
  }

  async abort(): Promise<void> {
    await this.#part?.writer.abort().catch(ignoreFailure);
    await this.#part?.stored.catch(ignoreFailure);
    await this.#multipart?.abort();
  }

  async #openPart(): Promise<Part> {
    if (this.#maxBytes !== null) {
      const sizeBytes = this.#maxBytes + 1; // U1
      return openPart(sizeBytes, (readable) => this.#bucket.put(this.#key, readable));
    }
    const multipart = (this.#multipart ??= await this.#bucket.createMultipartUpload(this.#key));
    const number = this.#storedParts.length + 1;
    return openPart(PART_BYTES, (readable) => multipart.uploadPart(number, readable));
  }

  async #closePart(part: Part): Promise<void> {
    this.#part = undefined;
    await part.writer.close();
    const stored = await part.stored;
    if (this.#multipart) this.#storedParts.push(stored as R2UploadedPart);
  }
}

function openPart(sizeBytes: number, store: (readable: ReadableStream) => Promise<unknown>): Part {
  const { readable, writable } = new FixedLengthStream(sizeBytes);
  const stored = store(readable);
  stored.catch(ignoreFailure); // the next write throws it
  return { writer: writable.getWriter() as Part["writer"], stored, leftBytes: sizeBytes };
}
