/**
 * Connects to ports inside of a container's network, where servers may listen on loopback alone. A helper process enters
 * the network by its file (which never becomes that of another container), connects there, and hands the open socket over.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { errorMessage } from "../../../src/std/errors.ts";

/** A helper without work is kept so long. */
const IDLE_MS = 10_000;

/** Runs in the helper. The socket is paused before it is open, or what came first would be lost with the helper. */
const HELPER = `
  const { createConnection } = require("node:net");
  const connect = (id, port, [host, ...others]) => {
    const socket = createConnection({ host, port });
    socket.pause();
    socket.once("connect", () => process.send({ id }, socket));
    socket.once("error", ({ code }) => {
      if (others.length > 0) connect(id, port, others);
      else process.send({ id, error: code });
    });
  };
  process.on("message", ({ id, port }) => connect(id, port, ["127.0.0.1", "::1"]));
  process.on("disconnect", () => process.exit());
`;

type Waiting = { readonly resolve: (socket: Socket) => void; readonly reject: (error: Error) => void };
type Reply = { readonly id: number; readonly error?: string };

export class NamespaceDialer {
  readonly #helpers = new Map<string, Helper>();

  /** `network`: file of the network, as Docker names it. Throws without a listener, and where it may not be entered. */
  connect(network: string, port: number): Promise<Socket> {
    const helper = this.#helpers.get(network) ?? this.#start(network);
    return helper.connect(port);
  }

  close(): void {
    for (const helper of this.#helpers.values()) helper.close();
  }

  #start(network: string): Helper {
    const helper = new Helper(network, () => {
      if (this.#helpers.get(network) === helper) this.#helpers.delete(network);
    });
    this.#helpers.set(network, helper);
    return helper;
  }
}

class Helper {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEnd: () => void;
  #newest = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor(network: string, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#process = spawn("nsenter", [`--net=${network}`, "--", process.execPath, "-e", HELPER], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: { PATH: process.env["PATH"] },
    });
    this.#process.on("message", (reply: Reply, socket: Socket | undefined) => this.#replied(reply, socket));
    this.#process.on("error", (error) => this.#ended(errorMessage(error)));
    this.#process.on("exit", () => this.#ended("the network of the container cannot be entered"));
    this.#process.unref();
    this.#process.channel?.unref();
  }

  connect(port: number): Promise<Socket> {
    this.#newest += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    this.#waiting.set(this.#newest, { resolve, reject });
    this.#process.send({ id: this.#newest, port }, (error) => error && this.#ended(error.message));
    this.#restWhenIdle();
    return promise;
  }

  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#onEnd();
    this.#process.kill("SIGKILL");
  }

  #replied({ id, error }: Reply, socket: Socket | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (socket && waiting) waiting.resolve(socket);
    else waiting?.reject(new Error(error ?? "the connection was lost"));
    this.#restWhenIdle();
  }

  #restWhenIdle(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = this.#waiting.size > 0 ? null : setTimeout(() => this.close(), IDLE_MS).unref();
  }

  #ended(reason: string): void {
    this.#onEnd();
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }
}
