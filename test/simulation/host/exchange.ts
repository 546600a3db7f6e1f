/**
 * A connection from the agent to the server of a container, with one request and its answer. All that one end does
 * reaches the other a moment later, in its order, unless that has ended by then.
 */
import type { Machine, World } from "../world/world.ts";
import type { Container } from "./containers.ts";

export type RequestHead = {
  readonly method: string;
  readonly target: string;
  readonly headers: ReadonlyMap<string, string>;
};

/** What happens at the end of the agent. */
export type ClientEnd = {
  readonly answered: (status: number, headers: Readonly<Record<string, string>>) => void;
  readonly received: (piece: Uint8Array) => void;
  readonly ended: () => void;
  readonly broken: () => void;
  /** The server has taken a piece of the body. */
  readonly taken: () => void;
};

/** What happens at the end of the server. */
export type ServerEnd = {
  readonly received: (piece: Uint8Array) => void;
  readonly ended: () => void;
  readonly clientGone: () => void;
};

const LOCAL_MS = 1;

export class Exchange {
  readonly head: RequestHead;
  readonly #world: World;
  readonly #agent: Machine;
  readonly #agentLife: number;
  readonly #container: Container;
  readonly #client: ClientEnd;
  #server: ServerEnd | undefined;
  #early: ((server: ServerEnd) => void)[] = [];
  #isOver = false;
  readonly #connection = { end: (): void => this.break() };

  constructor(world: World, agent: Machine, container: Container, head: RequestHead, client: ClientEnd) {
    this.#world = world;
    this.#agent = agent;
    this.#agentLife = agent.life;
    this.#container = container;
    this.#client = client;
    this.head = head;
    container.connections.add(this.#connection);
    agent.whenCrashed.add(this.hangUp);
  }

  // What the agent does

  send(piece: Uint8Array): void {
    this.#atServer((server) => {
      server.received(piece);
      this.#atAgent(this.#client.taken);
    });
  }

  sendEnd(): void {
    this.#atServer((server) => server.ended());
  }

  /** The agent closes the connection, or dies. */
  hangUp = (): void => {
    if (this.#isOver) return;
    this.#atServer((server) => server.clientGone());
    this.#forget();
  };

  // What the server does

  serveBy(server: ServerEnd): void {
    this.#server = server;
    for (const act of this.#early.splice(0)) act(server);
  }

  answer(status: number, headers: Readonly<Record<string, string>>): void {
    this.#atAgent(() => this.#client.answered(status, headers));
  }

  write(piece: Uint8Array): void {
    this.#atAgent(() => this.#client.received(piece));
  }

  end(): void {
    this.#atAgent(this.#client.ended);
    this.#forget();
  }

  /** The server closes the connection in the middle, or its container ends. */
  break(): void {
    this.#atAgent(this.#client.broken);
    this.#forget();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  #forget(): void {
    this.#isOver = true;
    this.#container.connections.delete(this.#connection);
    this.#agent.whenCrashed.delete(this.hangUp);
  }

  #atAgent(act: () => void): void {
    if (this.#isOver || this.#agent.life !== this.#agentLife) return;
    this.#world.schedule(this.#agent, LOCAL_MS, "server sends", act);
  }

  #atServer(act: (server: ServerEnd) => void): void {
    if (this.#isOver) return;
    this.#world.schedule(this.#container.machine, LOCAL_MS, "agent sends", () => this.#whenThawed(act));
  }

  /** A frozen container reads nothing. */
  #whenThawed(act: (server: ServerEnd) => void): void {
    const { isFrozen, whenThawed } = this.#container;
    if (isFrozen) return void whenThawed.push(() => this.#whenThawed(act));
    if (this.#server) act(this.#server);
    else this.#early.push(act);
  }
}
