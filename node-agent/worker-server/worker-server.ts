/**
 * The HTTP server that containers talk to: the six routes of the worker protocol, and a relay to the edge.
 * The SDK asks again without any pause after an error, so the server delays every error reply.
 */
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP, type Socket } from "node:net";
import type { AgentLog } from "../core/log.ts";
import type { Timing } from "../core/timing.ts";
import { announcedBytes, type ReceivedBody, readBody, BodyBudget } from "./bodies.ts";
import type { EdgeRelay } from "./edge-relay.ts";
import { Poll, type WorkerCalls } from "./poll.ts";
import { POST_MAX_BYTES } from "./result.ts";
import { parseRelayed, parseRequest, type WorkerRequest } from "./worker-request.ts";

/** Connections of all containers. */
const WORKER_CONNECTIONS_MAX = 10_000;

/** Connections of one container. */
const WORKER_CONNECTIONS_PER_IP_MAX = 2_000;

/** Unanswered requests of one worker, polls included: a worker has at most 1,000 jobs. */
export const WORKER_REQUESTS_MAX = 1_100;

/** Memory for bodies of results and chunks of all workers: four of the largest. */
const WORKER_BODIES_BUDGET_BYTES = 84 * 1_000_000;

/** What the server needs of a worker. */
export interface WorkerSession {
  readonly token: string;
  readonly calls: WorkerCalls;
}

export type WorkerServerOptions = {
  readonly findSession: (workerId: string) => WorkerSession | undefined;
  /** Workers of an earlier agent post to a new one at once: nothing is answered before it knows them. */
  readonly workersKnown: Promise<void>;
  /** Passes a worker's own requests on to the edge. */
  readonly relay: EdgeRelay;
  readonly log: AgentLog;
  readonly timing: Timing;
};

/** Workers keep connections for 15 s; a server that closes first would lose a result now and then. */
const KEEP_ALIVE_MS = 120_000;
const LOOPBACK = "127.0.0.1";
const POSTED = { "job-done": "result_dropped", "job-stream": "chunk_dropped" } as const;

type PostedRequest = Extract<WorkerRequest, { readonly route: keyof typeof POSTED }>;

export class WorkerServer {
  readonly #options: WorkerServerOptions;
  readonly #servers: Server[] = [];
  readonly #errorTimers = new Set<NodeJS.Timeout>();
  readonly #bodies = new BodyBudget(WORKER_BODIES_BUDGET_BYTES, POST_MAX_BYTES);
  /** Requests of each worker that are not answered. */
  readonly #requests = new Tally();
  readonly #connections = new Tally();

  constructor(options: WorkerServerOptions) {
    this.#options = options;
  }

  /** Listens on loopback and on the address that workers use. Port 0 lets the system choose; returns the port. */
  async listen(workerAddress: string, preferredPort: number): Promise<number> {
    const port = await this.#listenOn(LOOPBACK, preferredPort);
    // A name instead of an address leads to the loopback of this machine by way of Docker's own proxy.
    const needsOwnSocket = isIP(workerAddress) !== 0 && workerAddress !== LOOPBACK;
    if (needsOwnSocket) await this.#listenOn(workerAddress, port);
    return port;
  }

  async close(): Promise<void> {
    for (const timer of this.#errorTimers) clearTimeout(timer);
    const servers = this.#servers.splice(0);
    await Promise.all(
      servers.map((server) => {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        return closed;
      }),
    );
  }

  #listenOn(host: string, port: number): Promise<number> {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.maxConnections = WORKER_CONNECTIONS_MAX;
    if (host !== LOOPBACK) server.on("connection", (socket: Socket) => this.#admitConnection(socket));
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        this.#servers.push(server);
        const address = server.address();
        resolve(typeof address === "object" && address ? address.port : port);
      });
    });
  }

  /** A container has its own address; connections over the loopback come from this machine, and may be any worker's. */
  #admitConnection(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    if (this.#connections.count(address) >= WORKER_CONNECTIONS_PER_IP_MAX) return void socket.destroy();
    this.#connections.add(address);
    socket.once("close", () => this.#connections.remove(address));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {}); // a vanished peer; polls notice it through "close"
    await this.#options.workersKnown;
    try {
      const requestUrl = request.url ?? "";
      const parsed = parseRelayed(requestUrl) ?? parseRequest(request.method ?? "", requestUrl);
      const session = parsed && this.#options.findSession(parsed.workerId);
      const isAllowed = hasToken(session?.token, parsed?.token);
      if (!parsed || !session || !isAllowed) return this.#refuse(request, response, 404);
      if (!this.#admitRequest(parsed.workerId, response)) return this.#refuse(request, response, 429);
      if ("target" in parsed) this.#options.relay.pass(parsed.target, request, response);
      else await this.#serve(parsed, session.calls, request, response);
    } catch (error) {
      this.#options.log.error("worker_request_failed", { reason: String(error) });
      if (!response.headersSent) this.#refuse(request, response, 500);
    }
  }

  #admitRequest(workerId: string, response: ServerResponse): boolean {
    if (this.#requests.count(workerId) >= WORKER_REQUESTS_MAX) return false;
    this.#requests.add(workerId);
    response.once("close", () => this.#requests.remove(workerId));
    return true;
  }

  async #serve(
    parsed: WorkerRequest,
    calls: WorkerCalls,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    switch (parsed.route) {
      case "job-take": {
        const poll: Poll = new Poll(response, () => calls.drop(poll));
        return calls.take(poll, parsed.batchSize, parsed.hasJobInProgress);
      }
      case "job-stop": {
        const poll: Poll = new Poll(response, () => calls.drop(poll));
        return calls.stopPoll(poll);
      }
      case "ping":
        calls.ping(parsed.jobIds, parsed.unhealthyReason);
        return accept(response);
      case "job-done":
      case "job-stream":
        return await this.#receive(parsed, calls, request, response);
    }
  }

  /** Keeps nothing of a body that no job wants, and of others as much as the budget has memory for. */
  async #receive(
    posted: PostedRequest,
    calls: WorkerCalls,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (!calls.holds(posted.jobId)) {
      const { jobId } = posted;
      const body = await this.#read(request, response, 0);
      if (body) this.#options.log.info(POSTED[posted.route], { jobId });
      return body && accept(response);
    }
    const bytes = announcedBytes(request) ?? POST_MAX_BYTES;
    using reserved = await this.#bodies.reserve(posted, bytes, () => goneSignal(response));
    const body = reserved && (await this.#read(request, response, POST_MAX_BYTES));
    if (!body) return;
    if (posted.route === "job-stream") calls.chunk(posted.jobId, body);
    else await calls.result(posted.jobId, body);
    accept(response);
  }

  /** Undefined when the sender has vanished, or took too long and got an error reply. */
  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    limitBytes: number,
  ): Promise<ReceivedBody | undefined> {
    const timer = setTimeout(() => {
      this.#logRefused(request, 408);
      response.writeHead(408, { connection: "close" }).end(() => request.destroy());
    }, this.#options.timing.bodyLimitMs);
    const body = await readBody(request, limitBytes);
    clearTimeout(timer);
    return response.headersSent ? undefined : body;
  }

  #logRefused(request: IncomingMessage, status: number): void {
    const address = request.socket.remoteAddress ?? null;
    this.#options.log.warn("worker_request_refused", { status, address });
  }

  #refuse(request: IncomingMessage, response: ServerResponse, status: 404 | 429 | 500): void {
    this.#logRefused(request, status);
    request.resume();
    const timer = setTimeout(() => {
      this.#errorTimers.delete(timer);
      response.writeHead(status).end();
    }, this.#options.timing.errorDelayMs);
    this.#errorTimers.add(timer);
  }
}

/** How many of something there are, by name. */
class Tally {
  readonly #counts = new Map<string, number>();

  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#counts.set(name, this.count(name) + 1);
  }

  remove(name: string): void {
    const left = this.count(name) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }
}

function accept(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
}

/** Aborts when nobody waits for the response any more, or it was sent. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Each answered request closes, and an error with its stack would be made for it.
  response.once("close", () => gone.abort(null));
  return gone.signal;
}

/** Compares in constant time; the length of a token is no secret. */
function hasToken(expected: string | undefined, given: string | undefined): boolean {
  const [ours, theirs] = [Buffer.from(expected ?? ""), Buffer.from(given ?? "")];
  return expected !== undefined && ours.length === theirs.length && timingSafeEqual(ours, theirs);
}
