/**
 * The connection over which the workers of one load-balanced endpoint, or a pod, get their requests, and a host its
 * tunnels. It is kept open while they are here, and is silent while there is nothing to send, so that its other end can hibernate:
 * only pings of the WebSocket protocol, which are answered without waking it, show whether it is still there.
 */
import { trimEndOf } from "../../src/net/trimming.ts";
import { WebSocket } from "ws";
import type { WindowBudget } from "../../src/link/link-window.ts";
import type { EdgeContext } from "../edge/edge-context.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";
import type { StreamOpener } from "./link-stream.ts";
import { LinkSession } from "./link-session.ts";
import { LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";

export type LinkOptions = Pick<
  EdgeContext,
  "log" | "timing" | "random" | "reachability" | "onUnauthorized"
> & {
  readonly edgeUrl: string;
  readonly hostToken: string;
  /** Under `/agent/v1`, such as `endpoints/<id>`: what the link is of. */
  readonly of: string;
  readonly opener: StreamOpener;
  /** Ids of the workers that take requests now. */
  readonly openWorkers: () => readonly string[];
  /** Shared by the links of an agent. */
  readonly budget: WindowBudget;
};

/** Frames of several streams may share a message. */
const MESSAGE_MAX_BYTES = 16 * LINK_FRAME_MAX_BYTES;
/** Time for the other end to complete the closing handshake. */
const GOODBYE_MS = 1_000;
const GOING_AWAY = 1001;
const NO_LINK = 1002;
const STOPPED = "The agent of the host was stopped.";

export class Link {
  readonly #options: LinkOptions;
  readonly #backoff: Backoff;
  readonly #schedule = new Schedule(() => this.#step());
  #socket: WebSocket | null = null;
  #session: LinkSession | null = null;
  #isHeard = false;
  /** Workers that were announced to the edge. */
  #announced: readonly string[] = [];
  #isLeaving = false;
  #onQuiet: () => void = () => {};

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.timing, options.random);
    this.#schedule.within(0);
  }

  /** Other workers may take requests than before. */
  admissionChanged(): void {
    const workers = this.#openWorkers();
    if (!this.#session || areSame(workers, this.#announced)) return;
    this.#announced = workers;
    this.#session.announceWorkers(workers);
  }

  #openWorkers(): readonly string[] {
    return this.#isLeaving ? [] : this.#options.openWorkers();
  }

  /** Takes no more requests, waits for those that run up to the limit, then closes. */
  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    this.admissionChanged();
    await this.#quiet(graceMs);
    this.#session?.fail(STOPPED);
    this.#schedule.cancel();
    this.#options.reachability.answered(this.#conversation);
    setImmediate(() => this.#closeSocket()); // after the last frame was sent
  }

  #closeSocket(): void {
    const socket = this.#socket;
    socket?.close(GOING_AWAY);
    setTimeout(() => socket?.terminate(), GOODBYE_MS).unref();
  }

  async #quiet(graceMs: number): Promise<void> {
    if (!this.#session || this.#session.isQuiet) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onQuiet = resolve;
    const timer = setTimeout(resolve, graceMs);
    await promise;
    clearTimeout(timer);
  }

  // Connecting

  get #conversation(): string {
    return `link of ${this.#options.of}`;
  }

  #step(): void {
    if (!this.#socket) return this.#open();
    if (!this.#isHeard) return this.#socket.terminate();
    this.#isHeard = false;
    this.#socket.ping();
    this.#schedule.within(this.#options.timing.linkPingMs);
  }

  #open(): void {
    if (this.#isLeaving) return;
    const { edgeUrl, hostToken, of, timing } = this.#options;
    const path = `/agent/v1/${of}/link`;
    const url = new URL(`${trimEndOf(edgeUrl, "/").replace(/^http/, "ws")}${path}`);
    const socket = new WebSocket(url, {
      ...(isUnseen(url) && { generateMask: (mask) => mask.fill(0) }),
      headers: { authorization: `Bearer ${hostToken}` },
      perMessageDeflate: false,
      maxPayload: MESSAGE_MAX_BYTES,
      handshakeTimeout: timing.edgeSlackMs,
    });
    this.#socket = socket;
    let problem: string | null = "the connection was closed";
    socket.on("open", () => this.#opened(socket));
    socket.on("message", (message: Buffer) => this.#received(socket, message));
    socket.on("pong", () => this.#heard());
    socket.on("unexpected-response", (_, response) => {
      if (this.#isRejected(response.statusCode ?? 0)) problem = null;
      socket.terminate();
    });
    socket.on("error", (error) => (problem &&= error.message));
    socket.on("close", () => this.#lost(problem));
  }

  #opened(socket: WebSocket): void {
    const { reachability, timing } = this.#options;
    this.#session = new LinkSession({ ...this.#options, socket, onQuiet: () => this.#onQuiet() });
    this.#isHeard = true;
    this.#announced = this.#openWorkers();
    this.#session.announceWorkers(this.#announced);
    this.#schedule.within(timing.linkPingMs);
    reachability.answered(this.#conversation);
  }

  #received(socket: WebSocket, message: Buffer): void {
    this.#heard();
    if (!this.#session?.receive(message)) socket.close(NO_LINK, "The message is not a link message.");
  }

  /** Healthy only after the edge has sent something: it may accept a link and drop it at once. */
  #heard(): void {
    this.#isHeard = true;
    this.#backoff.reset();
  }

  /** Whether the edge has understood, and does not want the link. */
  #isRejected(status: number): boolean {
    const { log, of, onUnauthorized } = this.#options;
    if (status >= 500) return false;
    if (status === 401) onUnauthorized();
    else log.warn("link_refused", { of, status });
    return true;
  }

  /** `problem`: null when the edge does not want the link. */
  #lost(problem: string | null): void {
    const { reachability, timing } = this.#options;
    this.#session?.close();
    this.#session = null;
    this.#socket = null;
    this.#onQuiet();
    if (this.#isLeaving) return this.#schedule.cancel();
    if (problem === null) return this.#schedule.within(timing.linkRefusedMs);
    reachability.failed(this.#conversation, problem);
    this.#backoff.increase();
    this.#schedule.within(this.#backoff.remainingMs());
  }
}

/**
 * Masks keep content that a client chose from looking like HTTP to proxies that read it. Where no proxy can, an empty
 * mask saves the copy and a third of the agent's work for large answers.
 */
function isUnseen({ protocol, hostname }: URL): boolean {
  return protocol === "wss:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one) => others.includes(one));
}
