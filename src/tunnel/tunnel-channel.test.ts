import fc from "fast-check";
import { describe, test } from "vitest";
import { type Carrier, type OutputShare, TunnelChannel, type TunnelMessage } from "./tunnel-channel.ts";
import { TUNNEL_MESSAGE_MAX_BYTES, TUNNEL_WINDOW_BYTES } from "./tunnel-messages.ts";

/** One side, with a user that consumes when it is told to. */
class Side {
  readonly sent: TunnelMessage[] = [];
  readonly received: TunnelMessage[] = [];
  drains = 0;
  #unconsumed: (() => void)[] = [];
  readonly channel: TunnelChannel;

  constructor(share?: OutputShare) {
    this.channel = new TunnelChannel({
      onMessage: (message, consumed) => {
        this.received.push(message);
        this.#unconsumed.push(consumed);
      },
      onDrain: () => (this.drains += 1),
      ...(share && { share }),
    });
  }

  send(message: TunnelMessage): void {
    if (this.channel.isFull) return;
    this.sent.push(message);
    this.channel.send(message);
  }

  consume(count: number): void {
    for (const consumed of this.#unconsumed.splice(0, count)) consumed();
  }

  /** Takes the newest ones first, as output and errors are taken at different times. */
  consumeNewest(count: number): void {
    for (const consumed of this.#unconsumed.splice(-count)) consumed();
  }
}

/** Two sides, and what is on its way between them. */
class Tunnel {
  readonly client = new Side();
  readonly agent: Side;
  readonly errors: string[] = [];
  #connection: Connection | undefined;

  /** `share`: of the agent. */
  constructor(share?: OutputShare) {
    this.agent = new Side(share);
  }

  connect(): void {
    this.disconnect();
    this.#connection = new Connection(this.client, this.agent, this.errors);
  }

  /** What is on its way is lost, and the two sides notice it. */
  disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  deliver(count: number): void {
    this.#connection?.deliver(count);
  }

  settle(): void {
    this.connect();
    for (let turn = 0; turn < 10; turn += 1) {
      this.deliver(Number.POSITIVE_INFINITY);
      this.client.consume(Number.POSITIVE_INFINITY);
      this.agent.consume(Number.POSITIVE_INFINITY);
    }
  }
}

class Connection {
  readonly #ends: readonly {
    readonly side: Side;
    readonly carrier: Carrier;
    readonly inbox: TunnelMessage[];
  }[];
  readonly #errors: string[];

  constructor(client: Side, agent: Side, errors: string[]) {
    this.#errors = errors;
    const [toClient, toAgent]: [TunnelMessage[], TunnelMessage[]] = [[], []];
    this.#ends = [
      { side: client, inbox: toClient, carrier: { send: (message) => void toAgent.push(message) } },
      { side: agent, inbox: toAgent, carrier: { send: (message) => void toClient.push(message) } },
    ];
    for (const { side, carrier } of this.#ends) side.channel.attach(carrier);
  }

  deliver(count: number): void {
    for (const { side, carrier, inbox } of this.#ends) {
      for (const message of inbox.splice(0, count)) {
        const error = side.channel.receive(carrier, message);
        if (error !== undefined) this.#errors.push(error);
      }
    }
  }

  close(): void {
    for (const { side, carrier } of this.#ends) side.channel.detach(carrier);
  }
}

/** Short, and different for different messages. */
const summary = (message: TunnelMessage): string =>
  typeof message === "string" ? message : `${message.byteLength} of ${message[0]}`;

const SIZES = [0, 1, 1_000, TUNNEL_MESSAGE_MAX_BYTES];

const step = fc.record({
  does: fc.constantFrom(
    "send",
    "send",
    "send",
    "deliver",
    "deliver",
    "consume",
    "consumeNewest",
    "connect",
    "disconnect",
  ),
  by: fc.constantFrom("client" as const, "agent" as const),
  count: fc.integer({ min: 1, max: 40 }),
  size: fc.constantFrom(...SIZES),
  isText: fc.boolean(),
});

let numbered = 0;

function take(
  tunnel: Tunnel,
  { does, by, count, size, isText }: typeof step extends fc.Arbitrary<infer S> ? S : never,
) {
  if (does === "connect") tunnel.connect();
  if (does === "disconnect") tunnel.disconnect();
  if (does === "deliver") tunnel.deliver(count);
  if (does === "consume" || does === "consumeNewest") tunnel[by][does](count);
  if (does !== "send") return;
  for (let sent = 0; sent < count; sent += 1) {
    const text = `${(numbered += 1)}`;
    tunnel[by].send(isText ? text : new Uint8Array(size).fill(numbered % 251));
  }
}

describe("the two sides of a tunnel", () => {
  test("agree on the window when short messages are taken before long ones", ({ expect }) => {
    const tunnel = new Tunnel();
    tunnel.connect();
    tunnel.deliver(Number.POSITIVE_INFINITY);
    for (let round = 0; round < 100; round += 1) {
      for (let sent = 0; sent < 100; sent += 1) {
        tunnel.agent.send(new Uint8Array(sent % 2 === 0 ? TUNNEL_MESSAGE_MAX_BYTES : 1));
        tunnel.deliver(Number.POSITIVE_INFINITY);
        if (sent % 2 === 1) tunnel.client.consumeNewest(1);
      }
      tunnel.client.consume(2);
    }
    expect(tunnel.errors).toEqual([]);
  });

  test("get all messages once and in order, whatever is lost on the way", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const tunnel = new Tunnel();
        for (const one of steps) take(tunnel, one);
        tunnel.settle();
        expect(tunnel.errors).toEqual([]);
        expect(tunnel.agent.received.map(summary)).toEqual(tunnel.client.sent.map(summary));
        expect(tunnel.client.received.map(summary)).toEqual(tunnel.agent.sent.map(summary));
      }),
      { numRuns: 60 },
    );
  });

  test("send until the window is full, and go on when half of it was consumed", ({ expect }) => {
    const tunnel = new Tunnel();
    tunnel.connect();
    const message = new Uint8Array(TUNNEL_MESSAGE_MAX_BYTES);
    while (!tunnel.client.channel.isFull) tunnel.client.send(message);
    tunnel.deliver(Number.POSITIVE_INFINITY);
    const count = tunnel.agent.received.length;
    expect(count).toBeGreaterThan(TUNNEL_WINDOW_BYTES / TUNNEL_MESSAGE_MAX_BYTES / 2);
    expect(tunnel.client.drains).toBe(0);
    tunnel.agent.consume(count / 2);
    tunnel.deliver(Number.POSITIVE_INFINITY);
    expect(tunnel.client.drains).toBe(1);
    expect(tunnel.errors).toEqual([]);
  });
});

describe("channels that share what they keep", () => {
  const message = new Uint8Array(TUNNEL_MESSAGE_MAX_BYTES);
  const MAX_BYTES = 2 * TUNNEL_WINDOW_BYTES;

  function opened(count: number): { readonly share: OutputShare; readonly tunnels: readonly Tunnel[] } {
    const share = { bytes: 0, maxBytes: MAX_BYTES };
    const tunnels = Array.from({ length: count }, () => new Tunnel(share));
    for (const tunnel of tunnels) tunnel.connect();
    for (const tunnel of tunnels) tunnel.deliver(Number.POSITIVE_INFINITY);
    return { share, tunnels };
  }

  function fill({ agent }: Tunnel): void {
    while (!agent.channel.isFull) agent.send(message);
  }

  test("keep a small part of a window each when the share is used up", ({ expect }) => {
    const count = 100;
    const { share, tunnels } = opened(count);
    tunnels.forEach(fill);
    expect(share.bytes).toBeGreaterThan(MAX_BYTES);
    expect(share.bytes).toBeLessThan(MAX_BYTES + (count * TUNNEL_WINDOW_BYTES) / 10);
    for (const { agent } of tunnels) expect(agent.sent.length).toBeGreaterThan(0);
  });

  test("go on, each, as long as its messages are read", ({ expect }) => {
    const { tunnels } = opened(4);
    tunnels.forEach(fill); // the first ones are not read
    const [read] = tunnels.slice(-1);
    for (let round = 1; read && round <= 20; round += 1) {
      read.deliver(Number.POSITIVE_INFINITY);
      read.client.consume(Number.POSITIVE_INFINITY);
      read.deliver(Number.POSITIVE_INFINITY);
      expect(read.agent.drains).toBe(round);
      fill(read);
    }
    for (const { errors } of tunnels) expect(errors).toEqual([]);
  });

  test("leave all of it to the others when they end", ({ expect }) => {
    const { share, tunnels } = opened(4);
    tunnels.forEach(fill);
    for (const { agent } of tunnels) {
      agent.channel.end();
      agent.channel.send(message);
    }
    expect(share.bytes).toBe(0);
  });

  test("tell one that was held as soon as its messages are read, whichever of them has left room", ({
    expect,
  }) => {
    const { tunnels } = opened(4);
    tunnels.forEach(fill);
    const [held] = tunnels.slice(-1);
    for (const { agent } of tunnels.slice(0, -1)) agent.channel.end();
    held?.deliver(Number.POSITIVE_INFINITY);
    held?.client.consume(Number.POSITIVE_INFINITY);
    held?.deliver(Number.POSITIVE_INFINITY);
    expect(held?.agent.drains).toBe(1);
  });
});

describe("a channel refuses", () => {
  const carrier: Carrier = { send() {} };
  const resumed = JSON.stringify({ type: "resume", received: 0 });

  function attached(): Side {
    const side = new Side();
    side.channel.attach(carrier);
    return side;
  }

  test.for([
    { what: "a message before RESUME", messages: ["first"] },
    { what: "a second RESUME", messages: [resumed, resumed] },
    { what: "what it has not sent as received", messages: [JSON.stringify({ type: "resume", received: 1 })] },
    {
      what: "what it has not sent as consumed",
      messages: [resumed, JSON.stringify({ type: "ack", consumed: 1 })],
    },
    {
      what: "a message that is too large",
      messages: [resumed, new Uint8Array(TUNNEL_MESSAGE_MAX_BYTES + 1)],
    },
    {
      what: "more than the window has, in small messages too",
      messages: [resumed, ...Array.from({ length: 70_000 }, () => new Uint8Array())],
    },
  ])("$what", ({ messages }, { expect }) => {
    const side = attached();
    const errors = messages.map((message) => side.channel.receive(carrier, message));
    expect(errors.at(-1)).toBeTypeOf("string");
  });

  test("nothing of a connection that was replaced, which it ignores", ({ expect }) => {
    const side = attached();
    const other: Carrier = { send() {} };
    side.channel.attach(other);
    expect(side.channel.receive(carrier, "late")).toBeUndefined();
    expect(side.channel.receive(other, resumed)).toBeUndefined();
    expect(side.received).toEqual([]);
  });
});
