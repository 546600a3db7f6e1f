/** Bytes of an artifact on their way into R2, checked as they pass. */
import { ignoreFailure } from "../../std/errors.ts";
import { ServiceError } from "../../contract/errors.ts";
import { readBytes, announcedLength } from "../../durable/request-body.ts";
import { unbroken } from "../body.ts";

const GZIP_MAGIC = [0x1f, 0x8b];

export type Expectation = {
  readonly sizeBytes: number;
  /** The expected SHA-256 in hex; null when it is unknown. */
  readonly sha256: string | null;
  /** The bytes are the beginning of the artifact. */
  readonly isBeginning: boolean;
  /** For messages: "The artifact", "Part 3". */
  readonly what: string;
};

export type StoredStream<Stored> = { readonly sha256: string; readonly stored: Stored };

/** Streams a body to `store` and returns its SHA-256 in hex; throws invalid_input for a wrong size, hash or format. */
export async function storeChecked<Stored>(
  request: Request,
  expected: Expectation,
  store: (readable: ReadableStream) => Promise<Stored>,
): Promise<StoredStream<Stored>> {
  const length = announcedLength(request);
  if (length !== null && length !== expected.sizeBytes) throw wrongSize(expected, length);
  const { readable, writable } = new FixedLengthStream(expected.sizeBytes);
  const stored = store(readable);
  stored.catch(ignoreFailure); // the next write throws it
  const writer = writable.getWriter();
  const digest = new crypto.DigestStream("SHA-256");
  try {
    const hasher = digest.getWriter();
    for await (const bytes of checked(request, expected)) {
      await hasher.write(bytes);
      await Promise.race([writer.write(bytes), failureOf(stored)]);
    }
    await hasher.close();
    const sha256 = hex(await digest.digest);
    if (expected.sha256 !== null && sha256 !== expected.sha256) throw hashMismatch(expected, sha256);
    await writer.close();
    return { sha256, stored: await stored };
  } catch (error) {
    await writer.abort(error).catch(ignoreFailure);
    digest.digest.catch(ignoreFailure);
    throw error;
  }
}

/** Rejects when R2 fails; a write would wait forever then, since R2 has stopped reading. */
async function failureOf(stored: Promise<unknown>): Promise<never> {
  await stored;
  return await new Promise(() => {});
}

async function* checked({ body }: Request, expected: Expectation): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let sizeBytes = 0;
  for await (const bytes of body ? unbroken(readBytes(body)) : []) {
    if (sizeBytes === 0 && expected.isBeginning && !isGzip(bytes)) throw notGzip(expected);
    sizeBytes += bytes.byteLength;
    if (sizeBytes > expected.sizeBytes) throw wrongSize(expected, sizeBytes);
    yield bytes as Uint8Array<ArrayBuffer>;
  }
  if (sizeBytes !== expected.sizeBytes) throw wrongSize(expected, sizeBytes);
}

function isGzip(bytes: Uint8Array): boolean {
  return GZIP_MAGIC.every((byte, index) => bytes[index] === byte);
}

function wrongSize({ what, sizeBytes }: Expectation, found: number): ServiceError {
  return new ServiceError(
    "invalid_input",
    `${what} must have ${sizeBytes} bytes, as the upload was prepared; ${found} were received.`,
  );
}

function hashMismatch({ what, sha256 }: Expectation, found: string): ServiceError {
  return new ServiceError(
    "invalid_input",
    `${what} has the SHA-256 ${found}; ${sha256} was announced, or received before. Prepare a new upload.`,
  );
}

function notGzip({ what }: Expectation): ServiceError {
  return new ServiceError(
    "invalid_input",
    `${what} does not begin with the bytes of a gzipped archive (1f 8b).`,
  );
}

function hex(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
