/** The client's end of a tunnel, over streams of the link of a host that a test plays the edge of. */
import { randomBytes } from "node:crypto";
import { FRAME } from "../../src/link/link-frame.ts";
import { type Carrier, TunnelChannel, type TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import {
  type AgentMessage,
  agentMessageSchema,
  type ClientMessage,
  OUTPUT,
  type TunnelHead,
} from "../../src/tunnel/tunnel-messages.ts";
import type { ScriptedLink, ScriptedStream } from "./scripted-link.ts";

export class TunnelClient {
  readonly said: AgentMessage[] = [];
  readonly #link: ScriptedLink;
  readonly #target: { readonly workerId: string; readonly port?: number };
  readonly #head: TunnelHead;
  readonly #channel: TunnelChannel;
  readonly #bytes: Buffer[] = [];
  /** Messages stay unconsumed. */
  isReading = true;
  #unread: (() => void)[] = [];
  stream: ScriptedStream;

  constructor(link: ScriptedLink, workerId: string, port?: number, idleMs = 60_000) {
    this.#link = link;
    this.#target = { workerId, ...(port !== undefined && { port }) };
    const tunnelId = randomBytes(16).toString("hex");
    this.#head = { kind: port === undefined ? "exec" : "tcp", tunnelId, isResumed: false, idleMs };
    this.#channel = new TunnelChannel({
      onMessage: (message, consumed) => this.#take(message, consumed),
      onDrain: () => link.changed(),
    });
    this.stream = this.connect(false);
  }

  /** A new connection, that takes the place of one that is lost. */
  connect(isResumed = true): ScriptedStream {
    const stream = this.#link.open(this.#target, { ...this.#head, isResumed });
    const carrier: Carrier = { send: (message) => stream.message(message) };
    let pending: Buffer[] = [];
    stream.keeps = false;
    stream.onMessagePiece = (type, isLast, bytes) => {
      pending.push(bytes);
      if (!isLast) return;
      const whole = Buffer.concat(pending);
      pending = [];
      const problem = this.#channel.receive(carrier, type === FRAME.TEXT ? whole.toString() : whole);
      if (problem !== undefined) this.#link.violations.push(problem);
    };
    stream.onHead = () => this.#channel.attach(carrier);
    this.stream = stream;
    return stream;
  }

  /** Opens a command. */
  static run(
    link: ScriptedLink,
    workerId: string,
    start: Omit<Extract<ClientMessage, { type: "start" }>, "type">,
  ): TunnelClient {
    const client = new TunnelClient(link, workerId);
    client.say({ type: "start", ...start });
    return client;
  }

  say(message: ClientMessage): void {
    this.#channel.send(JSON.stringify(message));
  }

  write(bytes: string | Uint8Array): void {
    this.#channel.send(Buffer.from(bytes));
  }

  /** Writes all of it, as the agent has room. */
  async writeAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.byteLength; at += 32_768) {
      await this.#link.until(() => !this.#channel.isFull);
      this.write(bytes.subarray(at, at + 32_768));
    }
  }

  /** Reads what it has left unread. */
  read(): void {
    this.isReading = true;
    for (const consumed of this.#unread.splice(0)) consumed();
  }

  /** What came of a port, or of both outputs of a command. */
  get bytes(): Buffer {
    return Buffer.concat(this.#bytes.map((one) => (this.#head.kind === "exec" ? one.subarray(1) : one)));
  }

  get byteCount(): number {
    return this.#bytes.reduce((sum, one) => sum + one.byteLength, 0);
  }

  output(name: keyof typeof OUTPUT): string {
    const own = this.#bytes.filter((one) => one[0] === OUTPUT[name]);
    return Buffer.concat(own.map((one) => one.subarray(1))).toString();
  }

  /** Once that was printed, or came of the port. */
  async printed(text: string): Promise<void> {
    await this.#link.until(() => this.bytes.toString().includes(text));
  }

  async heard<T extends AgentMessage["type"]>(type: T): Promise<Extract<AgentMessage, { type: T }>> {
    const isMeant = (one: AgentMessage): one is Extract<AgentMessage, { type: T }> => one.type === type;
    return await this.#link.until(() => this.said.find(isMeant));
  }

  /** How the command has ended, once it has. */
  async exitCode(): Promise<number | null> {
    const message = await this.#link.until(() =>
      this.said.find(({ type }) => type === "exit" || type === "error"),
    );
    if (message.type === "error") throw new Error(message.message);
    return message.type === "exit" ? message.code : null;
  }

  #take(message: TunnelMessage, consumed: () => void): void {
    if (typeof message === "string") this.said.push(agentMessageSchema.parse(JSON.parse(message)));
    else this.#bytes.push(Buffer.from(message));
    if (this.isReading) consumed();
    else this.#unread.push(consumed);
    this.#link.changed();
  }
}
