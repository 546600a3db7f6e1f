/** A TCP connection from the agent to a program in a container, which sends back whatever it gets. */
import { Duplex } from "node:stream";
import type { Machine, World } from "../world/world.ts";
import type { Container } from "./containers.ts";

/** From the agent to the program; and until that sends a piece back, typically. */
const LOCAL_MS = 1;
const ECHO_MS = 20;

/** Connections that the programs of a host have, as they know; and commands that run. */
export type OpenSockets = Set<object>;

/** The agent's end. */
export class EchoSocket extends Duplex {
  readonly container: Container;
  readonly #world: World;
  readonly #agent: Machine;
  readonly #open: OpenSockets;
  #echoesAt = 0;
  readonly #connection = { end: (): void => this.#send(0, () => this.destroy(RESET)) };

  constructor(world: World, agent: Machine, container: Container, open: OpenSockets) {
    super();
    this.container = container;
    this.#world = world;
    this.#agent = agent;
    this.#open = open;
    open.add(this);
    container.connections.add(this.#connection);
    agent.whenCrashed.add(this.#leave);
  }

  setNoDelay(): this {
    return this;
  }

  override _read(): void {}

  override _write(piece: Buffer, _encoding: string, onTaken: () => void): void {
    const copy = Buffer.from(piece);
    this.#atProgram(() => {
      this.#send(0, onTaken);
      this.#echo(copy);
    });
  }

  /** The program ends its side as well once it has sent everything back. */
  override _final(onSent: () => void): void {
    this.#atProgram(() => this.#echo(null));
    onSent();
  }

  override _destroy(error: Error | null, onClosed: (error: Error | null) => void): void {
    this.#leave();
    onClosed(error);
  }

  #leave = (): void => {
    this.#open.delete(this);
    this.container.connections.delete(this.#connection);
    this.#agent.whenCrashed.delete(this.#leave);
  };

  #echo(piece: Buffer | null): void {
    const { now, random } = this.#world;
    this.#echoesAt = Math.max(this.#echoesAt, now + random.delay(ECHO_MS));
    this.#send(this.#echoesAt - now, () => this.push(piece));
  }

  /** Something arrives at the agent. */
  #send(delayMs: number, act: () => void): void {
    this.#world.schedule(this.#agent, LOCAL_MS + delayMs, "program sends", () => {
      if (!this.destroyed) act();
    });
  }

  #atProgram(act: () => void): void {
    const { machine } = this.container;
    this.#world.schedule(machine, LOCAL_MS, "agent sends", () => this.#whenThawed(act));
  }

  #whenThawed(act: () => void): void {
    const { isFrozen, whenThawed } = this.container;
    if (isFrozen) whenThawed.push(() => this.#whenThawed(act));
    else act();
  }
}

const RESET = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
