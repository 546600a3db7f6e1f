/** Compression whose results are there at once, so that no thread decides when they come. */
import { gunzipSync, gzipSync } from "node:zlib";

/** What is written is converted as a whole; what comes out are bytes, which readers may take in pieces. */
class Conversion {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  constructor(convert: (bytes: Uint8Array) => Uint8Array) {
    const chunks: Uint8Array[] = [];
    let output: ReadableByteStreamController;
    this.readable = new ReadableStream({ type: "bytes", start: (controller) => void (output = controller) });
    this.writable = new WritableStream<Uint8Array>({
      write: (chunk) => void chunks.push(chunk),
      close: () => {
        const converted = convertAll(convert, chunks);
        if (converted instanceof Error) {
          output.error(converted);
          throw converted;
        }
        if (converted.byteLength > 0) output.enqueue(new Uint8Array(converted));
        output.close();
        output.byobRequest?.respond(0);
      },
      abort: (reason) => output.error(reason),
    });
  }
}

function convertAll(
  convert: (bytes: Uint8Array) => Uint8Array,
  chunks: readonly Uint8Array[],
): Uint8Array | Error {
  try {
    return convert(Buffer.concat(chunks));
  } catch (error) {
    return new TypeError((error as Error).message);
  }
}

export class CompressionStream extends Conversion {
  constructor(_format: "gzip") {
    super((bytes) => gzipSync(bytes, { level: 1 }));
  }
}

export class DecompressionStream extends Conversion {
  constructor(_format: "gzip") {
    super(gunzipSync);
  }
}
