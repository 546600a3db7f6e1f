/** Calls to the edge over HTTP, each with its whole answer, on connections that stay open for the next one. */
import { Agent, type IncomingMessage, request } from "node:http";
import { Agent as SecureAgent, request as requestSecurely } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { errorCode } from "../../src/std/errors.ts";

export type EdgeCall = {
  readonly method: "GET" | "POST" | "PUT";
  /** Below the address of the edge. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Time for the whole answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

export type EdgeAnswer = { readonly status: number; readonly bytes: Buffer };

/** Shorter than servers keep idle connections: a call on one that the server closes just then would be lost. */
const IDLE_MS = 4_000;
/** Time for a new connection, before the address counts as unreachable. */
const CONNECT_MS = 10_000;

/** As Node's own agent takes them, where the settings of the service say so. */
const PROXIES = process.env["NODE_USE_ENV_PROXY"] === "1" ? { proxyEnv: process.env } : {};

export class EdgeCalls {
  readonly #edge: URL;
  readonly #basePath: string;
  readonly #send: typeof request;
  readonly #connections: Agent;
  /** How to end each call that has no answer yet. */
  readonly #open = new Set<(error: Error) => void>();

  /** `edgeUrl` has no slash at its end. */
  constructor(edgeUrl: string) {
    this.#edge = new URL(edgeUrl);
    this.#basePath = this.#edge.pathname === "/" ? "" : this.#edge.pathname;
    const isSecure = this.#edge.protocol === "https:";
    const options = { keepAlive: true, timeout: IDLE_MS, ...PROXIES };
    this.#send = isSecure ? requestSecurely : request;
    this.#connections = isSecure ? new SecureAgent(options) : new Agent(options);
  }

  /** All calls without an answer fail. */
  giveUp(error: Error): void {
    for (const end of [...this.#open]) end(error);
  }

  /** Rejects when no whole answer came in time, or when the signal ends the call. */
  async answer(call: EdgeCall): Promise<EdgeAnswer> {
    const { timeoutMs, signal } = call;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<EdgeAnswer>();
    const calling = this.#begin(call);
    const end = (error: Error): void => {
      reject(error);
      calling.destroy();
    };
    const abort = (): void => end(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    const timer = setTimeout(() => end(new Error("no answer in time")), timeoutMs);
    signal.addEventListener("abort", abort);
    this.#open.add(end);
    calling.on("socket", (socket) => limitConnecting(socket, end));
    calling.on("response", (response) => receive(response, resolve, reject)).on("error", reject);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#open.delete(end);
    }
  }

  #begin({ method, path, headers, body }: EdgeCall): ReturnType<typeof request> {
    const target = { path: `${this.#basePath}${path}`, method, headers, agent: this.#connections };
    const calling = this.#send(this.#edge, target);
    if (body === null) calling.end();
    else calling.end(body);
    return calling;
  }
}

function limitConnecting(socket: Socket, end: (error: Error) => void): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => end(new Error("no connection in time")), CONNECT_MS);
  const clear = (): void => clearTimeout(timer);
  socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", clear).once("close", clear);
}

function receive(
  response: IncomingMessage,
  resolve: (answer: EdgeAnswer) => void,
  reject: (error: Error) => void,
): void {
  const parts: Buffer[] = [];
  response.on("data", (part: Buffer) => parts.push(part));
  response.on("error", reject);
  response.on("end", () => {
    const [first] = parts;
    const bytes = parts.length === 1 && first ? first : Buffer.concat(parts);
    resolve({ status: response.statusCode ?? 0, bytes });
  });
}

/** What is wrong with the network; the error of several addresses that were tried says it by its code alone. */
export function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message || String(error.cause)}` : "";
  return `${error.message || (errorCode(error) ?? error.name)}${cause}`;
}
