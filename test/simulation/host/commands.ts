/** Commands that an agent runs in a container: a program of this one prints, reads its input to the end, and exits. */
import type {
  CommandRequest,
  OutputName,
  RunningCommand,
} from "../../../node-agent/runtime/interface/command.ts";
import type { CommandLoss } from "../../../src/tunnel/tunnel-messages.ts";
import type { Machine, World } from "../world/world.ts";
import type { Container } from "./containers.ts";

/** What an observer learns of a program, which its command names. */
export type CommandObserver = {
  readonly began: (mark: string, container: Container) => void;
  readonly printed: (mark: string, name: OutputName, text: string) => void;
  readonly read: (mark: string, text: string) => void;
  /** It exits by itself. */
  readonly exited: (mark: string, code: number) => void;
  /** It runs no longer, for whatever reason. */
  readonly over: (mark: string) => void;
  /** No instruction of the container is run from now on. */
  readonly frozen: (container: Container) => void;
};

export type CommandParts = {
  readonly world: World;
  readonly agent: Machine;
  readonly container: Container;
  readonly observer: CommandObserver;
  /** Ends that its host has open. */
  readonly open: Set<object>;
};

const LOCAL_MS = 1;
const PRINT_MS = 200;
const PIECES_MAX = 6;
const SIZES: readonly number[] = [0, 10, 10, 1_000, 65_536];

/** The agent's end, and the program. */
export class SimulatedCommand implements RunningCommand {
  /** The next agent does not find it: where this one dies, the program ends. */
  readonly process = null;
  readonly exit: Promise<number | CommandLoss>;
  readonly #parts: CommandParts;
  readonly #request: CommandRequest;
  readonly #mark: string;
  readonly #exited: (end: number | CommandLoss) => void;
  /** What waits until the agent reads; null while it does. */
  #held: (() => void)[] | null = [];
  #piecesLeft: number;
  #hasAllInput = false;
  #isOver = false;
  #isKilled = false;
  readonly #connection = { end: (): void => this.#end("container_ended") };

  constructor(parts: CommandParts, request: CommandRequest) {
    const { world, agent, container, observer, open } = parts;
    this.#parts = parts;
    this.#request = request;
    this.#mark = request.command.at(-1) ?? "";
    const { promise, resolve } = Promise.withResolvers<number | CommandLoss>();
    this.exit = promise;
    this.#exited = resolve;
    this.#piecesLeft = world.random.whole(0, PIECES_MAX);
    open.add(this);
    container.connections.add(this.#connection);
    agent.whenCrashed.add(this.#left);
    world.note(container.machine, `runs the command ${this.#mark}`);
    observer.began(this.#mark, container);
    this.#printLater();
  }

  // The program

  #printLater(): void {
    const { world, observer } = this.#parts;
    const { random } = world;
    if (this.#piecesLeft === 0) return this.#exitIfOver();
    this.#inside(random.delay(PRINT_MS), () => {
      const name = random.pick(["stdout", "stderr"] as const);
      const text = `${this.#piecesLeft} ${"z".repeat(random.pick(SIZES))};`.slice(0, 65_536);
      this.#piecesLeft -= 1;
      observer.printed(this.#mark, name, text);
      this.#outside(() => this.#request.onOutput(name, Buffer.from(text)));
      this.#printLater();
    });
  }

  #exitIfOver(): void {
    if (this.#piecesLeft > 0 || !this.#hasAllInput || this.#isOver) return;
    const code = this.#parts.world.random.pick([0, 0, 1, 255]);
    this.#parts.observer.exited(this.#mark, code);
    this.#end(code);
  }

  // The agent

  write(bytes: Uint8Array, taken: () => void): void {
    const text = Buffer.from(bytes).toString();
    this.#inside(LOCAL_MS, () => this.#parts.observer.read(this.#mark, text));
    setTimeout(taken, 2 * LOCAL_MS);
  }

  end(): void {
    this.#inside(LOCAL_MS, () => {
      this.#hasAllInput = true;
      this.#exitIfOver();
    });
  }

  pause(): void {
    if (!this.#isKilled) this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    while (held.length > 0 && this.#held === null) held.shift()?.();
    if (this.#held) this.#held = [...held, ...(this.#held as (() => void)[])];
  }

  resize(): void {}

  signal(): void {
    void this.kill();
  }

  /** Nobody reads its output from then on, so none is held back. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    this.resume();
    this.#inside(LOCAL_MS, () => this.#end(137));
    await this.exit;
  }

  // Between the two

  #left = (): void => this.#leave();

  #end(end: number | CommandLoss): void {
    if (this.#isOver) return;
    this.#outside(() => this.#exited(end));
    this.#leave();
  }

  #leave(): void {
    if (this.#isOver) return;
    const { open, container, agent, observer } = this.#parts;
    this.#isOver = true;
    open.delete(this);
    container.connections.delete(this.#connection);
    agent.whenCrashed.delete(this.#left);
    observer.over(this.#mark);
  }

  #inside(delayMs: number, act: () => void): void {
    const { world, container } = this.#parts;
    world.schedule(container.machine, delayMs, "command", () => this.#whenThawed(act));
  }

  #whenThawed(act: () => void): void {
    const { isFrozen, whenThawed } = this.#parts.container;
    if (isFrozen) whenThawed.push(() => this.#whenThawed(act));
    else if (!this.#isOver) act();
  }

  #outside(act: () => void): void {
    const { world, agent } = this.#parts;
    world.schedule(agent, LOCAL_MS, "command", () => {
      if (this.#held) this.#held.push(act);
      else act();
    });
  }
}
