/** Compression whose results are there at once, so that no thread decides when they come. */
import { gunzipSync, gzipSync } from "node:zlib";

function atOnce(convert: (bytes: Uint8Array) => Uint8Array): TransformStream<Uint8Array, Uint8Array> {
  const chunks: Uint8Array[] = [];
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush(controller) {
      try {
        controller.enqueue(new Uint8Array(convert(Buffer.concat(chunks))));
      } catch (error) {
        throw new TypeError((error as Error).message);
      }
    },
  });
}

export class CompressionStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  constructor(_format: "gzip") {
    ({ readable: this.readable, writable: this.writable } = atOnce((bytes) => gzipSync(bytes, { level: 1 })));
  }
}

export class DecompressionStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  constructor(_format: "gzip") {
    ({ readable: this.readable, writable: this.writable } = atOnce(gunzipSync));
  }
}
