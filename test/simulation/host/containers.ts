/** The containers of a host: they outlive the agent, and run whatever program their image stands for. */
import { place } from "../world/globals.ts";
import { Machine, type World } from "../world/world.ts";
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import type { OpenSockets } from "./echo-socket.ts";
import type { PrintedOutput } from "./printed-output.ts";

export type Container = {
  readonly spec: WorkerSpec;
  readonly machine: Machine;
  /** Null in histories in which nothing is printed. */
  readonly output: PrintedOutput | null;
  /** In the network of its host; no two containers of a host have the same. */
  readonly address: string;
  /** How its open connections end. */
  readonly connections: Set<{ end: () => void }>;
  /** Replies to its requests for jobs that it reads at present. */
  repliesRead: number;
  isRunning: boolean;
  /** It was killed, and none of its programs runs any more, but it does not end: they wait for a device or a disk. */
  isHanging: boolean;
  isFrozen: boolean;
  /** What its program does as soon as it is not frozen any more. */
  readonly whenThawed: (() => void)[];
  exitCode: number | null;
};

export type Program = (container: Container) => void;
/** Makes the output of a new container. */
export type OpenOutput = (spec: WorkerSpec) => PrintedOutput | null;

type Watcher = {
  readonly machine: Machine;
  readonly life: number;
  readonly onExit: (container: Container) => void;
};

const KILLED_EXIT = 137;

export class Containers {
  readonly #world: World;
  readonly #program: Program;
  readonly #openOutput: OpenOutput;
  readonly all = new Map<string, Container>();
  readonly openSockets: OpenSockets = new Set();
  #watchers: Watcher[] = [];
  #startCount = 0;
  /** Something happens that faults may follow. */
  noticed: () => void = () => {};
  #isBroken = false;
  readonly #kernel = new Machine("kernel");

  constructor(world: World, program: Program, openOutput: OpenOutput) {
    this.#world = world;
    this.#program = program;
    this.#openOutput = openOutput;
  }

  /** The daemon does not answer. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  set isBroken(isBroken: boolean) {
    this.#isBroken = isBroken;
    if (isBroken) for (const { output } of this.all.values()) output?.breakStreams();
  }

  start(spec: WorkerSpec): void {
    if (this.all.get(spec.workerId)?.isRunning) return;
    const machine = new Machine(`worker ${spec.workerId}`);
    const connections = new Set<{ end: () => void }>();
    this.#startCount += 1;
    const container: Container = {
      spec,
      machine,
      output: this.#openOutput(spec),
      address: `${spec.workerId}-${this.#startCount}.container`.toLowerCase(),
      connections,
      repliesRead: 0,
      isRunning: true,
      isHanging: false,
      isFrozen: false,
      whenThawed: [],
      exitCode: null,
    };
    this.all.set(spec.workerId, container);
    this.#world.note(machine, "starts");
    this.#world.on(machine, () => this.#program(container));
  }

  /** Its program ends, by itself or by a signal. */
  exit(container: Container, exitCode: number): void {
    if (!container.isRunning) return;
    container.isRunning = false;
    container.isHanging = false;
    container.isFrozen = false;
    container.exitCode = exitCode;
    this.#world.crash(container.machine);
    this.#world.note(container.machine, `exits with code ${exitCode}`);
    for (const { end } of container.connections) end();
    container.connections.clear();
    container.output?.end();
    for (const { machine, life, onExit } of this.#watchers) {
      if (machine.life === life) this.#world.schedule(machine, 1, "container exits", () => onExit(container));
    }
  }

  /** SIGKILL: it ends, now or after so long. */
  kill(container: Container, hangMs: number): void {
    if (!container.isRunning || container.isHanging) return;
    if (hangMs === 0) return this.exit(container, KILLED_EXIT);
    container.isHanging = true;
    this.#world.crash(container.machine);
    this.#world.schedule(this.#kernel, hangMs, "container ends", () => this.exit(container, KILLED_EXIT));
  }

  get hanging(): readonly Container[] {
    return [...this.all.values()].filter(({ isHanging }) => isHanging);
  }

  /** Those that were killed end. */
  endHanging(): void {
    for (const container of this.hanging) this.exit(container, KILLED_EXIT);
  }

  thaw(container: Container): void {
    container.isFrozen = false;
    for (const act of container.whenThawed.splice(0))
      this.#world.schedule(container.machine, 0, "goes on", act);
  }

  remove(workerId: string): void {
    const container = this.all.get(workerId);
    if (!container) return;
    this.exit(container, KILLED_EXIT);
    container.output?.removedBy(place()?.machine.life);
    this.all.delete(workerId);
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.push(watcher);
    return () => (this.#watchers = this.#watchers.filter((other) => other !== watcher));
  }
}
