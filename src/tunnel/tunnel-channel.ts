/**
 * One side of a tunnel: messages arrive once and in order, although connections are lost and made again, and no more
 * bytes wait than the window has.
 *
 * V1  Sent messages are kept until the other side has consumed them, and sent again on a new connection from the first
 *     that it has not received.
 * V2  A side sends at most TUNNEL_WINDOW_BYTES beyond what was consumed; both keep no more than that. A message is
 *     consumed when those before it are, in whatever order they are taken.
 * V3  Channels may share what they keep: while the share is used up, each keeps no more than SMALL_WINDOW_BYTES. That is
 *     more than the other side may leave without an ACK, so a channel whose messages are read goes on.
 */
import {
  transportSchema,
  type TransportMessage,
  TUNNEL_MESSAGE_MAX_BYTES,
  TUNNEL_WINDOW_BYTES,
} from "./tunnel-messages.ts";

/** Text for what is said about the tunnel, bytes for what goes through it. */
export type TunnelMessage = string | Uint8Array;

/** One connection. */
export type Carrier = { send(message: TunnelMessage): void };

/** What channels keep together for the other side. */
export type OutputShare = { bytes: number; readonly maxBytes: number };

type Arrived = { readonly bytes: number; isConsumed: boolean };

export type TunnelChannelOptions = {
  /** A counted message; `consumed` is to be called once when it takes up no memory any longer. */
  readonly onMessage: (message: TunnelMessage, consumed: () => void) => void;
  /** It is no longer full. */
  readonly onDrain: () => void;
  readonly share?: OutputShare;
};

/** Consumed bytes that the other side need not know of yet. */
const ACK_BYTES = TUNNEL_WINDOW_BYTES / 16;
/** What a message counts for beside its bytes, so that empty ones are bounded, too. */
const MESSAGE_BYTES = 64;

/** Room for a message of the largest size and a few short ones, which are sent although the channel is full. */
const RESERVE_BYTES = 2 * TUNNEL_MESSAGE_MAX_BYTES;

/** What a channel may keep while its share is used up. */
const SMALL_WINDOW_BYTES = ACK_BYTES + RESERVE_BYTES;

const encoder = new TextEncoder();

export class TunnelChannel {
  readonly #options: TunnelChannelOptions;
  #carrier: Carrier | null = null;
  /** The other side has said on this connection what it has. */
  #isResumed = false;
  // Outwards: messages that are not consumed, the first of which has the number #base.
  #kept: { readonly message: TunnelMessage; readonly bytes: number }[] = [];
  #base = 0;
  #unconsumedBytes = 0;
  /** It was full, and has not drained. */
  #isHeld = false;
  #isOver = false;
  // Inwards: messages that count, from the first on that is not consumed.
  readonly #arrived: Arrived[] = [];
  #received = 0;
  #receivedBytes = 0;
  #consumed = 0;
  #unackedBytes = 0;

  constructor(options: TunnelChannelOptions) {
    this.#options = options;
  }

  /** Nothing should be sent until `onDrain`. */
  get isFull(): boolean {
    const { share } = this.#options;
    const isShort = share !== undefined && share.bytes > share.maxBytes;
    return this.#unconsumedBytes + RESERVE_BYTES > (isShort ? SMALL_WINDOW_BYTES : TUNNEL_WINDOW_BYTES);
  }

  /** The other side has consumed all that was sent. */
  get isConsumed(): boolean {
    return this.#kept.length === 0;
  }

  /** Sends a message of at most TUNNEL_MESSAGE_MAX_BYTES, at once or on the next connection. */
  send(message: TunnelMessage): void {
    if (this.#isOver) return;
    const bytes = bytesOf(message);
    this.#kept.push({ message, bytes });
    this.#keep(bytes);
    this.#isHeld ||= this.isFull;
    if (this.#isResumed) this.#carrier?.send(message);
  }

  /** Goes on over a new connection, which takes the place of any other. */
  attach(carrier: Carrier): void {
    this.#carrier = carrier;
    this.#isResumed = false;
    this.#say({ type: "resume", received: this.#received });
  }

  /** The connection is lost; one that was replaced before is ignored. */
  detach(carrier: Carrier): void {
    if (this.#carrier !== carrier) return;
    this.#carrier = null;
    this.#isResumed = false;
  }

  /** Keeps nothing any more. */
  end(): void {
    this.#isOver = true;
    this.#carrier = null;
    this.#kept = [];
    this.#keep(-this.#unconsumedBytes);
  }

  /** Takes a message of a connection. Returns what is wrong with it. */
  receive(carrier: Carrier, message: TunnelMessage): string | undefined {
    if (this.#carrier !== carrier) return undefined; // what it sent last comes again on the one that replaced it
    const bytes = bytesOf(message);
    if (bytes > MESSAGE_BYTES + TUNNEL_MESSAGE_MAX_BYTES)
      return `A message has at most ${TUNNEL_MESSAGE_MAX_BYTES} bytes.`;
    const transport = typeof message === "string" ? transportOf(message) : undefined;
    if (transport) return this.#take(transport);
    if (!this.#isResumed) return "The first message on a connection is RESUME.";
    if (this.#receivedBytes + bytes > TUNNEL_WINDOW_BYTES) return "More was sent than the window has.";
    this.#received += 1;
    this.#receivedBytes += bytes;
    const arrived = { bytes, isConsumed: false };
    this.#arrived.push(arrived);
    this.#options.onMessage(message, () => {
      arrived.isConsumed = true;
      this.#release();
    });
    return undefined;
  }

  #take(transport: TransportMessage): string | undefined {
    if (transport.type === "ack") return this.#takeAck(transport.consumed);
    const index = transport.received - this.#base;
    if (this.#isResumed || index < 0 || index > this.#kept.length)
      return "RESUME does not fit what was sent.";
    this.#isResumed = true;
    this.#ack();
    for (const { message } of this.#kept.slice(index)) this.#carrier?.send(message);
    return undefined;
  }

  #takeAck(consumed: number): string | undefined {
    const count = consumed - this.#base;
    if (count < 0 || count > this.#kept.length) return "ACK does not fit what was sent.";
    this.#base = consumed;
    for (const { bytes } of this.#kept.splice(0, count)) this.#keep(-bytes);
    if (!this.#isHeld || this.isFull) return undefined;
    this.#isHeld = false;
    this.#options.onDrain();
    return undefined;
  }

  #keep(bytes: number): void {
    this.#unconsumedBytes += bytes;
    if (this.#options.share) this.#options.share.bytes += bytes;
  }

  /**
   * The other side is told how many messages are consumed, so one counts when all before it are: output and errors of
   * a command are taken at a pace of their own.
   */
  #release(): void {
    for (let first = this.#arrived[0]; first?.isConsumed; first = this.#arrived[0]) {
      this.#arrived.shift();
      this.#consumed += 1;
      this.#receivedBytes -= first.bytes;
      this.#unackedBytes += first.bytes;
    }
    if (this.#unackedBytes >= ACK_BYTES) this.#ack();
  }

  #ack(): void {
    if (!this.#isResumed) return;
    this.#unackedBytes = 0;
    this.#say({ type: "ack", consumed: this.#consumed });
  }

  #say(message: TransportMessage): void {
    this.#carrier?.send(JSON.stringify(message));
  }
}

function bytesOf(message: TunnelMessage): number {
  return (
    MESSAGE_BYTES + (typeof message === "string" ? encoder.encode(message).byteLength : message.byteLength)
  );
}

/** Undefined for a counted message. */
function transportOf(message: string): TransportMessage | undefined {
  try {
    return transportSchema.safeParse(JSON.parse(message)).data;
  } catch {
    return undefined;
  }
}
