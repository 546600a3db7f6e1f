/**
 * The client's side of a tunnel into a container: one channel over as many connections as it takes.
 *
 * N1  A lost connection is made again for up to TUNNEL_RESUME_MS; the agent keeps the tunnel for as long.
 * N2  A connection on which not even pings are answered is lost: a computer that slept, or a network that changed, may
 *     never be told.
 * N3  The edge answers pings for an agent that is gone. A connection on which the agent answers nothing that was sent is
 *     made again, too: only that asks the agent. One that is busy loses nothing by it.
 * N4  What the edge refuses for good ends the tunnel with its message: a key that may not, a container that is gone.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { parseJson } from "../../src/std/json.ts";
import { type Carrier, TunnelChannel, type TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import {
  TUNNEL_CLOSE,
  TUNNEL_MESSAGE_MAX_BYTES,
  TUNNEL_RESUME_MS,
} from "../../src/tunnel/tunnel-messages.ts";
import { type Service, ServiceFailure } from "../service/service.ts";

/** A pod or a worker, and what is reached in it: a command, or a TCP port. */
export type TunnelTarget = { readonly containerId: string; readonly port?: number };

export type ClientTunnelOptions = {
  readonly service: Pick<Service, "url" | "apiKey">;
  readonly target: TunnelTarget;
  /** A message; `consumed` is to be called when it uses no memory any longer. */
  readonly onMessage: (message: TunnelMessage, consumed: () => void) => void;
  /** It takes messages again. */
  readonly onDrain: () => void;
  /** The connection is lost, or there again. */
  readonly onConnection?: (isThere: boolean) => void;
};

const HANDSHAKE_MS = 20_000;
const PING_INTERVAL_MS = 10_000;
const SILENCE_LIMIT_MS = 25_000;
const ANSWER_LIMIT_MS = 20_000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 2_000;
/** The agent has no such tunnel. */
const GONE = "tunnel_gone";
/** Statuses that may be over in a moment; others are for good. */
const TRANSIENT = new Set([429, 500, 502, 503, 504]);

const errorSchema = z.object({ error: z.string(), code: z.string().catch("") });

/** The edge has refused a connection. */
class Rejection extends ServiceFailure {
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(code, message, ADVICE.get(code));
    this.status = status;
  }
}

/** The connection, and with it the tunnel, was lost, or none could be made. */
export class ConnectionLoss extends Failure {}

/**
 * Whether another tunnel may reach what this error of a tunnel has kept from being reached. A pod whose container has
 * ended may be getting another one, unless it is stopped.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof Rejection)
    return TRANSIENT.has(error.status) || error.code === "container_not_running";
  return error instanceof ConnectionLoss;
}

const ADVICE: ReadonlyMap<string, readonly string[]> = new Map([
  ["host_not_connected", ["Is the agent of its host up to date? On the host: sudo edgerun-agent upgrade"]],
]);

export class ClientTunnel {
  /** Resolves when the tunnel is over; rejects with a Failure when it ended otherwise. */
  readonly over: Promise<void>;
  readonly #options: ClientTunnelOptions;
  readonly #tunnelId = randomBytes(16).toString("hex");
  readonly #channel: TunnelChannel;
  #resolve: () => void = () => {};
  #reject: (failure: Error) => void = () => {};
  #socket: WebSocket | undefined;
  #isOver = false;
  /** When the first message was sent after the last one of the agent; undefined if none was (N3). */
  #unansweredSince: number | undefined;

  private constructor(options: ClientTunnelOptions) {
    this.#options = options;
    this.over = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.over.catch(() => {});
    this.#channel = new TunnelChannel({
      onMessage: (message, consumed) => options.onMessage(message, consumed),
      onDrain: () => options.onDrain(),
    });
  }

  /** Opens a tunnel; throws a Failure when the edge or the agent refuses it. */
  static async open(options: ClientTunnelOptions): Promise<ClientTunnel> {
    const tunnel = new ClientTunnel(options);
    tunnel.#use(await tunnel.#connect(false));
    return tunnel;
  }

  /**
   * Throws a Failure when the edge will open no tunnel to it: it is unknown, stopped, or not for this key. Asks for a
   * tunnel that there is not, which is checked like any other, and reaches nothing in the container.
   */
  static async check(service: ClientTunnelOptions["service"], target: TunnelTarget): Promise<void> {
    const tunnel = new ClientTunnel({ service, target, onMessage() {}, onDrain() {} });
    try {
      (await tunnel.#connect(true)).terminate();
    } catch (error) {
      const isThere = error instanceof Rejection && (error.code === GONE || isTransient(error));
      if (!isThere) throw error;
    }
  }

  /** Nothing should be sent until `onDrain`. */
  get isFull(): boolean {
    return this.#channel.isFull;
  }

  /** Sends a message of at most TUNNEL_MESSAGE_MAX_BYTES, at once or when there is a connection again. */
  send(message: TunnelMessage): void {
    this.#unansweredSince ??= performance.now();
    this.#channel.send(message);
  }

  /** Ends the tunnel, and with it what runs at its other end. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket?.close(TUNNEL_CLOSE.over);
    this.#resolve();
  }

  /** Like `close`; resolves when the edge knows of it. */
  async leave(): Promise<void> {
    this.close();
    const socket = this.#socket;
    if (socket && socket.readyState !== WebSocket.CLOSED) await once(socket, "close");
  }

  // Connections

  async #connect(isResumed: boolean): Promise<WebSocket> {
    const { url, apiKey = "" } = this.#options.service;
    const { containerId, port } = this.#options.target;
    const what = port === undefined ? "exec" : `ports/${port}`;
    const query = new URLSearchParams({ tunnel: this.#tunnelId, ...(isResumed && { resume: "true" }) });
    const address = `${url.replace(/^http/, "ws")}/tunnels/${encodeURIComponent(containerId)}/${what}?${query.toString()}`;
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${apiKey}` },
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: TUNNEL_MESSAGE_MAX_BYTES,
    });
    return await new Promise((resolve, reject) => {
      socket.once("open", () => {
        socket.pause(); // messages that come with the handshake wait until somebody listens
        resolve(socket);
      });
      socket.once("error", (error) => reject(unreachable(url, error)));
      socket.once("unexpected-response", (_, response) => {
        rejectionOf(response)
          .then(reject, reject)
          .finally(() => socket.terminate());
      });
    });
  }

  #use(socket: WebSocket): void {
    const carrier: Carrier = { send: (message) => socket.send(message) };
    this.#socket = socket;
    this.#unansweredSince = undefined;
    socket.on("message", (data: Buffer, isBinary) => {
      this.#unansweredSince = undefined;
      const error = this.#channel.receive(carrier, isBinary ? data : data.toString());
      if (error !== undefined) this.#fail(new Failure(`The tunnel broke its protocol: ${error}`));
    });
    socket.on("error", () => {}); // which closes it
    watchSilence(socket, () => this.#unansweredSince);
    socket.on("close", (code, reason) => {
      this.#channel.detach(carrier);
      this.#closed(code, reason.toString());
    });
    this.#channel.attach(carrier);
    socket.resume();
  }

  #closed(code: number, reason: string): void {
    if (this.#isOver) return;
    switch (code) {
      case TUNNEL_CLOSE.over:
        return this.close();
      case TUNNEL_CLOSE.idle:
        return this.#fail(new Failure("The tunnel was idle for too long, so it was ended.", [IDLE]));
      case TUNNEL_CLOSE.replaced:
        return this.#fail(new Failure("Another connection has taken over the tunnel."));
      case TUNNEL_CLOSE.protocol:
      case TUNNEL_CLOSE.tooLarge:
        return this.#fail(new Failure(`The tunnel was ended: ${reason || "its protocol was violated"}.`));
      default:
        void this.#resume(code === TUNNEL_CLOSE.renew ? 0 : RETRY_MIN_MS);
    }
  }

  async #resume(firstDelayMs: number): Promise<void> {
    const until = performance.now() + TUNNEL_RESUME_MS;
    this.#options.onConnection?.(false);
    for (
      let delayMs = firstDelayMs;
      !this.#isOver;
      delayMs = Math.min(RETRY_MAX_MS, 2 * (delayMs || RETRY_MIN_MS))
    ) {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      try {
        const socket = await this.#connect(true);
        if (this.#isOver) return socket.close(TUNNEL_CLOSE.over);
        this.#options.onConnection?.(true);
        return this.#use(socket);
      } catch (error) {
        const isFinal = error instanceof Rejection && !TRANSIENT.has(error.status);
        if (isFinal || performance.now() > until) return this.#fail(lossOf(error));
      }
    }
  }

  #fail(failure: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket?.close(TUNNEL_CLOSE.over);
    this.#reject(failure);
  }
}

/** Ends a connection that is silent (N2), or on which the agent is (N3). */
function watchSilence(socket: WebSocket, unansweredSince: () => number | undefined): void {
  let heardAt = performance.now();
  const heard = (): void => void (heardAt = performance.now());
  socket.on("message", heard).on("pong", heard);
  const pings = setInterval(() => {
    const now = performance.now();
    const isSilent = now - heardAt > SILENCE_LIMIT_MS;
    if (isSilent || now - (unansweredSince() ?? now) > ANSWER_LIMIT_MS) socket.terminate();
    else socket.ping();
  }, PING_INTERVAL_MS);
  socket.once("close", () => clearInterval(pings));
}

const IDLE = "The operator of the edge sets the limit: TUNNEL_IDLE_SECONDS.";

function unreachable(url: string, error: Error): Failure {
  return new ConnectionLoss(`${url} cannot be reached: ${error.message}.`, [
    "Is the URL right, and the network up?",
  ]);
}

async function rejectionOf(response: IncomingMessage): Promise<Rejection> {
  const status = response.statusCode ?? 0;
  const { data } = errorSchema.safeParse(parseJson(await text(response).catch(() => "")));
  return new Rejection(status, data?.code ?? "", data?.error ?? `The edge answered with status ${status}.`);
}

function lossOf(error: unknown): Failure {
  if (error instanceof Rejection && error.code !== GONE) return error;
  const why = error instanceof Failure ? error.message : String(error);
  return new ConnectionLoss(`The connection was lost, and with it the tunnel. ${why}`);
}
