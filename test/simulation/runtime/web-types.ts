/** Types of the web platform that Workers have and Node has not, or has otherwise. */
import { createHash } from "node:crypto";
import { place } from "../world/globals.ts";
import type { Network } from "./network.ts";
import { ClientSocket } from "./client-socket.ts";
import { CompressionStream, DecompressionStream } from "./compression.ts";
import type { SimulatedSocket } from "./sockets.ts";

const NodeResponse = globalThis.Response;

type Init = ResponseInit & { readonly webSocket?: SimulatedSocket | null };

/** A response that may be an upgrade. */
class SimulatedResponse extends NodeResponse {
  readonly webSocket: SimulatedSocket | null;

  constructor(body?: ConstructorParameters<typeof NodeResponse>[0], init: Init = {}) {
    const isUpgrade = init.status === 101;
    super(body, isUpgrade ? { ...init, status: 200 } : init);
    if (isUpgrade) Object.defineProperties(this, { status: { value: 101 }, ok: { value: false } });
    this.webSocket = init.webSocket ?? null;
  }

  static override json(value: unknown, init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers);
    if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
    return new SimulatedResponse(JSON.stringify(value), { ...init, headers });
  }
}

/** Bytes written are bytes read. */
class IdentityTransformStream {
  readonly readable: ReadableStream;
  readonly writable: WritableStream<Uint8Array>;

  constructor() {
    let controller: ReadableByteStreamController;
    /** A reader waits for bytes. */
    let wanted = Promise.withResolvers<void>();
    const over = Promise.withResolvers<never>();
    over.promise.catch(() => {});
    this.readable = new ReadableStream({
      type: "bytes",
      start: (begun) => void (controller = begun),
      pull: () => wanted.resolve(),
      cancel: (reason) => over.reject(reason ?? new TypeError("The stream was cancelled.")),
    });
    this.writable = new WritableStream<Uint8Array>({
      write: async (chunk) => {
        if (chunk.byteLength === 0) return;
        await Promise.race([wanted.promise, over.promise]);
        wanted = Promise.withResolvers();
        controller.enqueue(new Uint8Array(chunk));
      },
      close: () => {
        controller.close();
        controller.byobRequest?.respond(0);
      },
      abort: (reason) => controller.error(reason),
    });
  }
}

class FixedLengthStream extends IdentityTransformStream {
  constructor(_bytes: number | bigint) {
    super();
  }
}

/** `crypto.DigestStream`: the hash of all that is written. */
class DigestStream extends WritableStream<Uint8Array> {
  readonly digest: Promise<ArrayBuffer>;

  constructor(algorithm: string) {
    const hash = createHash(algorithm.replace("-", "").toLowerCase());
    const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
    promise.catch(() => {});
    super({
      write: (chunk) => void hash.update(chunk),
      close: () => resolve(new Uint8Array(hash.digest()).buffer),
      abort: reject,
    });
    this.digest = promise;
  }
}

type ByobRead = { readonly done: boolean; readonly value: Uint8Array | undefined };

type ByobReader = ReadableStreamBYOBReader & {
  readAtLeast?: (bytes: number, view: Uint8Array) => Promise<ByobRead>;
};

/** `network` is that of the world which runs. */
export function installWebTypes(network: () => Network): void {
  class WebSocketPair {
    constructor() {
      Object.assign(this, network().socketPair());
    }
  }
  const streams = { IdentityTransformStream, FixedLengthStream, CompressionStream, DecompressionStream };
  const types = { Response: SimulatedResponse, WebSocketPair, WebSocket: ClientSocket, ...streams };
  for (const [name, value] of Object.entries(types)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  Object.assign(crypto, { DigestStream });
  // It returns what is there: no code may depend on getting more.
  (ReadableStreamBYOBReader.prototype as ByobReader).readAtLeast = async function (
    this: ByobReader,
    _bytes,
    view,
  ) {
    return (await this.read(view)) as ByobRead;
  };
  const nodeFetch = globalThis.fetch;
  globalThis.fetch = (async (input: string | URL | Request, init?: RequestInit) => {
    if (!place()) return nodeFetch(input, init);
    const request = new Request(input, { ...init, duplex: "half" } as RequestInit);
    // What a client knows the length of, it announces.
    const { body } = init ?? {};
    const length =
      typeof body === "string" || body instanceof Uint8Array ? Buffer.byteLength(body) : undefined;
    if (length !== undefined) request.headers.set("content-length", String(length));
    return network().fetch(request);
  }) as typeof fetch;
}
