/**
 * The HTTP server that containers talk to: the six routes of the worker protocol, and a relay to the edge.
 * The SDK asks again without any pause after an error, so every refusal is slow.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { AgentLog } from "../log.ts";
import type { Timing } from "../timing.ts";
import { type ReceivedBody, readBody } from "./body.ts";
import type { EdgeRelay } from "./edge-relay.ts";
import { Poll } from "./poll.ts";
import { POST_MAX_BYTES } from "./result.ts";
import { parseRelayed, parseRequest, type WorkerRequest } from "./worker-request.ts";

/** What the server needs of a worker. */
export interface WorkerSession {
  readonly token: string;
  readonly calls: WorkerCalls;
}

/** What a container may ask of its agent. */
export interface WorkerCalls {
  take(poll: Poll, wish: number, hasJobInProgress: boolean | null): void;
  stopPoll(poll: Poll): void;
  drop(poll: Poll): void;
  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void;
  result(jobId: string, body: ReceivedBody): Promise<void>;
  chunk(jobId: string, body: ReceivedBody): void;
}

export type WorkerServerOptions = {
  readonly findSession: (workerId: string) => WorkerSession | undefined;
  /** Passes a worker's own requests on to the edge. */
  readonly relay: EdgeRelay;
  readonly log: AgentLog;
  readonly timing: Timing;
};

/** Workers keep connections for 15 s; a server that closes first would lose a result now and then. */
const KEEP_ALIVE_MS = 120_000;
const LOOPBACK = "127.0.0.1";

export class WorkerServer {
  readonly #options: WorkerServerOptions;
  readonly #servers: Server[] = [];
  readonly #refusals = new Set<NodeJS.Timeout>();

  constructor(options: WorkerServerOptions) {
    this.#options = options;
  }

  /** Listens on loopback and on the address that workers use. Port 0 lets the system choose; returns the port. */
  async listen(workerAddress: string, wantedPort: number): Promise<number> {
    const port = await this.#listenOn(LOOPBACK, wantedPort);
    // A name instead of an address leads to the loopback of this machine by way of Docker's own proxy.
    const needsOwnSocket = isIP(workerAddress) !== 0 && workerAddress !== LOOPBACK;
    if (needsOwnSocket) await this.#listenOn(workerAddress, port);
    return port;
  }

  async close(): Promise<void> {
    for (const timer of this.#refusals) clearTimeout(timer);
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {}); // a vanished peer; polls hear of it through "close"
    try {
      const address = request.url ?? "";
      if (this.#passOn(address, request, response)) return;
      const parsed = parseRequest(request.method ?? "", address);
      const session = parsed && this.#options.findSession(parsed.workerId);
      const isAllowed = hasToken(session?.token, parsed?.token);
      if (!parsed || !session || !isAllowed) return this.#refuse(request, response, 404);
      await this.#serve(parsed, session.calls, request, response);
    } catch (error) {
      this.#options.log.error("worker_request_failed", { reason: String(error) });
      if (!response.headersSent) this.#refuse(request, response, 500);
    }
  }

  /** False for all but a worker's request for the edge. */
  #passOn(address: string, request: IncomingMessage, response: ServerResponse): boolean {
    const relayed = parseRelayed(address);
    const session = relayed && this.#options.findSession(relayed.workerId);
    if (!relayed || !hasToken(session?.token, relayed.token)) return false;
    this.#options.relay.pass(relayed.target, request, response);
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
      case "job-stream": {
        const body = await readBody(request, POST_MAX_BYTES);
        if (!body) return;
        if (parsed.route === "job-stream") calls.chunk(parsed.jobId, body);
        else await calls.result(parsed.jobId, body);
        return accept(response);
      }
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, status: 404 | 500): void {
    this.#options.log.warn("worker_request_refused", {
      status,
      address: request.socket.remoteAddress ?? null,
    });
    request.resume();
    const timer = setTimeout(() => {
      this.#refusals.delete(timer);
      response.writeHead(status).end();
    }, this.#options.timing.refusalDelayMs);
    this.#refusals.add(timer);
  }
}

function accept(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
}

/** Compares in constant time; hashing makes the lengths equal. */
function hasToken(expected: string | undefined, given: string | undefined): boolean {
  const isEqual = timingSafeEqual(digest(expected ?? ""), digest(given ?? ""));
  return isEqual && expected !== undefined;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
