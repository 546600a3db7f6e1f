/**
 * A server with the API of Hugging Face's hub, as far as models are downloaded by it. Large files come from a second
 * server, as they do there, to which the first one redirects.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What becomes of one call for the bytes of a file. */
type Mishap =
  /** The connection breaks after so many bytes. */
  | { readonly kind: "break"; readonly after: number }
  /** Nothing comes any more after so many bytes. */
  | { readonly kind: "stall"; readonly after: number }
  /** Other bytes come, and as many. */
  | { readonly kind: "damage" }
  /** All of it comes, whatever was requested. */
  | { readonly kind: "ignore_range" }
  | { readonly kind: "status"; readonly status: number };

type Files = Readonly<Record<string, Buffer | string>>;
type Repository = {
  readonly commit: string;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly token?: string;
};
type Entry = Record<string, unknown>;

/** Files from this size on are large ones. */
const LARGE_BYTES = 1_000;
const RESOLVE = /^\/([^/]+\/[^/]+)\/resolve\/([0-9a-f]{40})\/(.+)$/;
const BRANCH = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/([^/]+)$/;
const TREE = /^\/api\/models\/([^/]+\/[^/]+)\/tree\/([0-9a-f]{40})$/;

export class ModelHub {
  /** Calls for bytes of files: path and range, "" for all. */
  readonly asked: { readonly path: string; readonly range: string; readonly ifRange: string }[] = [];
  /** Every call of the API. */
  readonly apiCalls: string[] = [];
  /** Bytes of files that were sent. */
  sentBytes = 0;
  /** What happens to the next calls for the bytes of a file. */
  readonly mishaps = new Map<string, Mishap[]>();
  /** Authorization headers that the server of large files has got. */
  readonly leakedTokens: string[] = [];
  /** Changes what a listing says. */
  tamper: (entries: Entry[]) => Entry[] = (entries) => entries;
  pageSize = 1_000;
  /** Of the API; 200: as usual. */
  apiStatus = 200;
  readonly #repositories = new Map<string, Repository[]>();
  readonly #server: Server;
  readonly #largeServer: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#serve(request, response));
    this.#largeServer = createServer((request, response) => this.#serveLarge(request, response));
  }

  static async start(): Promise<ModelHub> {
    const hub = new ModelHub();
    for (const server of [hub.#server, hub.#largeServer]) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
    }
    return hub;
  }

  get url(): string {
    return urlOf(this.#server);
  }

  /** What `main` of a model is from now on; returns the commit. */
  add(id: string, files: Files, token?: string): string {
    const contents = new Map(Object.entries(files).map(([path, body]) => [path, Buffer.from(body)]));
    const facts = [...contents].map(([path, body]) => `${path} ${sha256Of(body)}`).join("\n");
    const commit = createHash("sha1").update(`${id}\n${facts}`).digest("hex");
    const repository = { commit, files: contents, ...(token !== undefined && { token }) };
    this.#repositories.set(id, [repository, ...(this.#repositories.get(id) ?? [])]);
    return commit;
  }

  fail(path: string, ...mishaps: Mishap[]): void {
    this.mishaps.set(path, [...(this.mishaps.get(path) ?? []), ...mishaps]);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://hub");
    const path = decodeURIComponent(url.pathname);
    const file = RESOLVE.exec(path);
    if (!file) this.apiCalls.push(path);
    if (!file && this.apiStatus !== 200) return void response.writeHead(this.apiStatus).end();
    const [, id = "", named = ""] = file ?? BRANCH.exec(url.pathname) ?? TREE.exec(path) ?? [];
    const repository = this.#find(id, decodeURIComponent(named));
    if (!repository) return void response.writeHead(404).end("{}");
    const { token } = repository;
    const isOpen = token === undefined || request.headers.authorization === `Bearer ${token}`;
    if (!isOpen) return void response.writeHead(401).end("{}");
    if (file) return this.#serveFile(repository, file[3] ?? "", request, response);
    if (TREE.test(path)) return this.#serveTree(repository, url, response);
    sendJson(response, { id, sha: repository.commit, siblings: [] });
  }

  #find(id: string, revision: string): Repository | undefined {
    const all = this.#repositories.get(id) ?? [];
    return revision === "main" ? all[0] : all.find(({ commit }) => commit === revision);
  }

  #serveTree({ files }: Repository, url: URL, response: ServerResponse): void {
    const folders = new Set([...files.keys()].flatMap((path) => path.split("/").slice(0, -1)));
    const entries = this.tamper([
      ...[...folders].map((path) => ({ type: "directory", oid: "0".repeat(40), size: 0, path })),
      ...[...files].map(([path, body]) => entryOf(path, body)),
    ]);
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const end = from + this.pageSize;
    const next = `${this.url}${url.pathname}?recursive=true&cursor=${end}`;
    const headers = end < entries.length ? { link: `<${next}>; rel="next"` } : undefined;
    sendJson(response, entries.slice(from, end), headers);
  }

  #serveFile(repository: Repository, path: string, request: IncomingMessage, response: ServerResponse): void {
    const body = repository.files.get(path);
    if (!body) return void response.writeHead(404).end();
    if (body.length < LARGE_BYTES) return this.#send(path, body, request, response);
    const location = `${urlOf(this.#largeServer)}/${repository.commit}/${encodeURIComponent(path)}`;
    response.writeHead(302, { location, "x-linked-etag": `"${sha256Of(body)}"` }).end();
  }

  #serveLarge(request: IncomingMessage, response: ServerResponse): void {
    const [, commit, path = ""] = (request.url ?? "").split("/").map(decodeURIComponent);
    if (request.headers.authorization !== undefined) this.leakedTokens.push(request.headers.authorization);
    const all = [...this.#repositories.values()].flat();
    const body = all.find((one) => one.commit === commit)?.files.get(path);
    if (!body) return void response.writeHead(404).end();
    this.#send(path, body, request, response);
  }

  #send(path: string, body: Buffer, request: IncomingMessage, response: ServerResponse): void {
    const { range = "", "if-range": ifRange = "" } = request.headers;
    this.asked.push({ path, range, ifRange: String(ifRange) });
    const mishap = this.mishaps.get(path)?.shift();
    if (mishap?.kind === "status") return void response.writeHead(mishap.status).end();
    const etag = `"of ${sha256Of(body).slice(0, 16)}"`;
    const isWhole = mishap?.kind === "ignore_range" || (ifRange !== "" && ifRange !== etag);
    const from = isWhole ? 0 : Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
    const rest = body.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      etag,
      "content-length": String(rest.length),
      ...(from > 0 && { "content-range": `bytes ${from}-${body.length - 1}/${body.length}` }),
    });
    this.#sendBytes(mishap?.kind === "damage" ? Buffer.alloc(rest.length, 7) : rest, mishap, response);
  }

  #sendBytes(bytes: Buffer, mishap: Mishap | undefined, response: ServerResponse): void {
    const isWhole = mishap?.kind !== "break" && mishap?.kind !== "stall";
    const sent = isWhole ? bytes : bytes.subarray(0, mishap.after);
    this.sentBytes += sent.length;
    if (isWhole) return void response.end(sent);
    response.write(sent, () => {
      // In a packet of its own, so that what came before it arrives.
      if (mishap.kind === "break") setImmediate(() => response.socket?.end());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#server, this.#largeServer]) {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  }
}

export function sha256Of(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

/** As Git names a content. */
export function gitIdOf(body: Buffer): string {
  return createHash("sha1").update(`blob ${body.length}\0`).update(body).digest("hex");
}

function entryOf(path: string, body: Buffer): Entry {
  const oid = gitIdOf(body);
  if (body.length < LARGE_BYTES) return { type: "file", oid, size: body.length, path };
  return {
    type: "file",
    oid,
    size: body.length,
    path,
    lfs: { oid: sha256Of(body), size: body.length, pointerSize: 135 },
  };
}

function sendJson(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
