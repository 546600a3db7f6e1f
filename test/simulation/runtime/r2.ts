/** R2: objects in memory, with latency and errors. */
import type { Network } from "./network.ts";

type Stored = { readonly bytes: Uint8Array; readonly customMetadata: Record<string, string> | undefined };
type Body = ConstructorParameters<typeof Response>[0];
type Range = { readonly offset?: number; readonly length?: number; readonly suffix?: number };
type GetOptions = { readonly range?: Range };
type PutOptions = {
  readonly customMetadata?: Record<string, string>;
  /** `*`: only if there is none. */
  readonly onlyIf?: { readonly etagDoesNotMatch: "*" };
};
type ListOptions = {
  readonly prefix?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly startAfter?: string;
};

const LIST_MAX = 1_000;

export class SimulatedBucket {
  readonly objects = new Map<string, Stored>();
  readonly #network: Network;
  readonly #name: string;

  constructor(network: Network, name: string) {
    this.#network = network;
    this.#name = name;
  }

  async get(key: string, { range }: GetOptions = {}): Promise<unknown> {
    return this.#ask("get", () => {
      const stored = this.objects.get(key);
      if (!stored) return null;
      const bytes = cut(stored.bytes, range);
      return {
        ...describe(key, stored),
        body: new Response(bytes).body,
        arrayBuffer: async () => bytes.slice().buffer,
        bytes: async () => bytes.slice(),
        text: async () => new TextDecoder().decode(bytes),
        json: async (): Promise<unknown> => JSON.parse(new TextDecoder().decode(bytes)),
      };
    });
  }

  async head(key: string): Promise<unknown> {
    return this.#ask("head", () => {
      const stored = this.objects.get(key);
      return stored ? describe(key, stored) : null;
    });
  }

  async put(key: string, value: Body, { customMetadata, onlyIf }: PutOptions = {}): Promise<unknown> {
    const bytes = new Uint8Array(await new Response(value).arrayBuffer());
    return this.#ask("put", () => {
      if (onlyIf && this.objects.has(key)) return null;
      const stored = { bytes, customMetadata };
      this.objects.set(key, stored);
      return describe(key, stored);
    });
  }

  /** An upload of which nothing is there before it is complete. */
  async createMultipartUpload(key: string): Promise<unknown> {
    const parts = new Map<number, Uint8Array>();
    const whole = (): Uint8Array =>
      Buffer.concat([...parts].toSorted(([one], [other]) => one - other).map(([, bytes]) => bytes));
    await this.#ask("createMultipartUpload", () => undefined);
    return {
      uploadPart: async (number: number, value: Body): Promise<unknown> => {
        const bytes = new Uint8Array(await new Response(value).arrayBuffer());
        return await this.#ask("uploadPart", () => {
          parts.set(number, bytes);
          return { partNumber: number, etag: "etag" };
        });
      },
      complete: (): Promise<unknown> =>
        this.#ask(
          "complete",
          () => void this.objects.set(key, { bytes: whole(), customMetadata: undefined }),
        ),
      abort: (): Promise<unknown> => this.#ask("abort", () => undefined),
    };
  }

  async delete(keys: string | readonly string[]): Promise<unknown> {
    return this.#ask("delete", () => {
      for (const key of typeof keys === "string" ? [keys] : keys) this.objects.delete(key);
    });
  }

  async list({
    prefix = "",
    limit = LIST_MAX,
    cursor,
    startAfter = cursor ?? "",
  }: ListOptions = {}): Promise<unknown> {
    return this.#ask("list", () => {
      const keys = [...this.objects.keys()]
        .filter((key) => key.startsWith(prefix) && key > startAfter)
        .sort();
      const page = keys.slice(0, limit);
      const objects = page.map((key) => describe(key, this.objects.get(key) as Stored));
      const truncated = keys.length > page.length;
      return { objects, truncated, ...(truncated && { cursor: page.at(-1) }), delimitedPrefixes: [] };
    });
  }

  #ask(operation: string, act: () => unknown): Promise<unknown> {
    return this.#network.ask({
      what: `${this.#name}.${operation}`,
      send: (answer) => this.#network.perform("r2Fails", answer, act),
    });
  }
}

function describe(key: string, { bytes, customMetadata }: Stored) {
  return {
    key,
    size: bytes.byteLength,
    customMetadata,
    etag: "etag",
    httpEtag: '"etag"',
    uploaded: new Date(0),
  };
}

function cut(bytes: Uint8Array, range: Range | undefined): Uint8Array<ArrayBuffer> {
  if (!range) return bytes.slice();
  const { offset = range.suffix === undefined ? 0 : Math.max(0, bytes.byteLength - range.suffix), length } =
    range;
  return bytes.slice(offset, length === undefined ? undefined : offset + length);
}
