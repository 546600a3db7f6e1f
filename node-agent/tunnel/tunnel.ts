/**
 * One tunnel of a client into a container: what is at its end, and the connection it has at the moment.
 *
 *   open ── finish() ──► finished ── the client closes, or never comes back ──► over
 *
 * W1  A tunnel without a connection is kept for `tunnelResumeMs`; then what is at its end is ended.
 * W2  A connection is closed at the age of `tunnelRenewalMs`, so that the edge checks the key of the client again.
 * W3  A finished tunnel has nothing running any more; it is kept until the client has had a chance to read its last words.
 */
import { BufferShare, type BufferedMessages } from "../link/message-buffer.ts";
import type { Timing } from "../core/timing.ts";
import {
  type Carrier,
  type OutputShare,
  TunnelChannel,
  type TunnelMessage,
} from "../../src/tunnel/tunnel-channel.ts";
import {
  type AgentMessage,
  type CommandLoss,
  TUNNEL_CLOSE,
  type TunnelHead,
} from "../../src/tunnel/tunnel-messages.ts";

/** A connection, from one stream of the link. */
export type TunnelConnection = Carrier & { close(code: number, reason: string): void };

/** What is at the end of a tunnel in the container. */
export type TunnelService = {
  /** A message of the client; `consumed` is to be called when it uses no memory any longer. Returns what is wrong with it. */
  receive(message: TunnelMessage, consumed: () => void): string | undefined;
  /** The tunnel takes messages again. */
  drained(): void;
  /** Nobody is at the other end any more. Resolves when nothing of it is left in the container. */
  end(): Promise<void>;
};

export type TunnelOptions = Pick<TunnelHead, "kind" | "tunnelId" | "idleMs"> & {
  readonly workerId: string;
  /** Of a tunnel to a port. */
  readonly port: number | undefined;
  readonly timing: Pick<Timing, "tunnelResumeMs" | "tunnelRenewalMs">;
  /** Messages of clients that were not consumed, of all tunnels. */
  readonly buffered: BufferedMessages;
  /** Messages for clients that these have not consumed, of all tunnels. */
  readonly kept: OutputShare;
  readonly onOver: () => void;
  /** What is at its end is being ended; `ended` rejects when that fails. */
  readonly onEnding: (ended: Promise<void>) => void;
};

const TOO_MUCH = "Too much waits on the host for what does not read it.";
const REASON_MAX_CHARACTERS = 100;

export class Tunnel {
  readonly options: TunnelOptions;
  readonly #channel: TunnelChannel;
  readonly #share: BufferShare;
  #service: TunnelService | null = null;
  #connection: TunnelConnection | null = null;
  #state: "open" | "finished" | "over" = "open";
  #usedAt = performance.now();
  #idle: NodeJS.Timeout;
  #lost: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(options: TunnelOptions) {
    this.options = options;
    this.#share = new BufferShare(options.buffered);
    this.#channel = new TunnelChannel({
      onMessage: (message, consumed) => this.#take(message, consumed),
      onDrain: () => this.#service?.drained(),
      share: options.kept,
    });
    this.#idle = this.#watchUse(options.idleMs);
  }

  /** It has what is at its end, and can have connections. */
  serve(service: TunnelService): void {
    this.#service = service;
  }

  /** It was neither finished nor forgotten. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isServed(): boolean {
    return this.#service !== null && this.#state !== "over";
  }

  // What the service says

  /** The service should send nothing until it is told that the tunnel has drained. */
  get isFull(): boolean {
    return this.#channel.isFull;
  }

  /** Sends a message of at most TUNNEL_MESSAGE_MAX_BYTES. */
  send(bytes: Uint8Array): void {
    this.#usedAt = performance.now();
    if (this.#state === "open") this.#channel.send(bytes);
  }

  say(message: AgentMessage): void {
    this.#usedAt = performance.now();
    if (this.#state === "open") this.#channel.send(JSON.stringify(message));
  }

  /** All was said, and nothing is left at its end (W3). */
  finish(): void {
    if (this.#state !== "open") return;
    this.#state = "finished";
    clearTimeout(this.#idle);
    clearTimeout(this.#lost);
    this.#lost = setTimeout(() => this.drop(), this.options.timing.tunnelResumeMs).unref();
  }

  /** Ends what is at its end, with a message for users; `loss`: why, for programs. */
  fail(message: string, loss?: CommandLoss): void {
    if (this.#state !== "open") return;
    this.say({ type: "error", message, ...(loss && { loss }) });
    this.#endService();
    this.finish();
  }

  /** Ends it with a message for users, and closes its connection. */
  close(code: number, message: string): void {
    this.fail(message);
    this.#connection?.close(code, message.slice(0, REASON_MAX_CHARACTERS));
    this.drop();
  }

  /** Forgets it. */
  drop(): void {
    if (this.#state === "over") return;
    if (this.#state === "open") this.#endService();
    this.#state = "over";
    for (const timer of [this.#idle, this.#lost, this.#renewal]) clearTimeout(timer);
    this.#connection?.close(TUNNEL_CLOSE.over, "The tunnel is over.");
    this.#connection = null;
    this.#channel.end();
    this.options.onOver();
  }

  #endService(): void {
    if (this.#service) this.options.onEnding(this.#service.end());
  }

  // Its connection

  attach(connection: TunnelConnection): void {
    const { timing } = this.options;
    this.#connection?.close(TUNNEL_CLOSE.replaced, "Another connection has resumed the tunnel.");
    this.#connection = connection;
    if (this.#state === "open") clearTimeout(this.#lost);
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => this.#renew(connection), timing.tunnelRenewalMs).unref();
    this.#channel.attach(connection);
  }

  #renew(connection: TunnelConnection): void {
    connection.close(TUNNEL_CLOSE.renew, "Resume the tunnel.");
    this.lost(connection);
  }

  receive(connection: TunnelConnection, message: TunnelMessage): void {
    const problem = this.#channel.receive(connection, message);
    if (problem !== undefined) this.close(TUNNEL_CLOSE.protocol, problem);
  }

  /** The connection is lost, or was replaced before. */
  lost(connection: TunnelConnection): void {
    this.#channel.detach(connection);
    if (this.#connection !== connection) return;
    this.#connection = null;
    clearTimeout(this.#renewal);
    if (this.#state !== "open") return;
    this.#lost = setTimeout(() => this.drop(), this.options.timing.tunnelResumeMs).unref();
  }

  /** The client has closed the connection for good. */
  left(connection: TunnelConnection): void {
    if (this.#connection !== connection) return this.lost(connection);
    this.#connection = null;
    this.drop();
  }

  #take(message: TunnelMessage, consumed: () => void): void {
    const bytes = typeof message === "string" ? message.length : message.byteLength;
    this.#usedAt = performance.now();
    if (this.#state !== "open") return consumed();
    this.#share.add(bytes);
    const problem = this.#service?.receive(message, () => {
      this.#share.add(-bytes);
      consumed();
    });
    if (problem !== undefined) this.close(TUNNEL_CLOSE.protocol, problem);
    else if (this.#share.isTooLarge) this.close(TUNNEL_CLOSE.over, TOO_MUCH);
  }

  #watchUse(forMs: number): NodeJS.Timeout {
    const timer = setTimeout(
      () => {
        const leftMs = this.options.idleMs - (performance.now() - this.#usedAt);
        if (leftMs > 0) this.#idle = this.#watchUse(leftMs);
        else this.close(TUNNEL_CLOSE.idle, idleText(this.options.idleMs));
      },
      Math.min(forMs, TIMER_MAX_MS),
    );
    return timer.unref();
  }
}

/** Clients show it as it is, so it says who can change the limit. */
function idleText(idleMs: number): string {
  return `Nothing was sent for ${idleMs / 1_000} s. The operator of the edge sets the limit: TUNNEL_IDLE_SECONDS.`;
}

/** Timers of more end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
