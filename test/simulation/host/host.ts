/** A GPU host: its agent, which may crash and start again, and its containers, which run on. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import type { Inventory } from "../../../src/contract/agent/agent.ts";
import { Machine, type World } from "../world/world.ts";
import type { CommandObserver } from "./commands.ts";
import { servedPort } from "./container-servers.ts";
import { type Container, Containers } from "./containers.ts";
import { HostImages } from "./images.ts";
import { breakServersOf, takePortOf } from "./modules/http.ts";
import { losePower, setDiskFull } from "./modules/sqlite.ts";
import type { PrintedOutput } from "./printed-output.ts";
import { type RequestObserver, runRequestWorker } from "./request-worker.ts";
import type { SocketObserver } from "./served-socket.ts";
import { asRuntime, type RuntimeFaults, type RuntimeObserver, SimulatedRuntime } from "./runtime.ts";
import { runWorker, type WorkerFaults, type WorkerObserver } from "./worker.ts";

type AgentLike = { stop(options: { readonly removeWorkers: boolean }): Promise<void> };
export type AgentCode = { readonly Agent: { start(options: unknown): Promise<AgentLike> } };

/** The production code of the agent of a checkout. */
export async function loadAgent(checkout: string): Promise<AgentCode> {
  return (await import(pathToFileURL(join(checkout, "node-agent/agent.ts")).href)) as AgentCode;
}

export type HostOptions = {
  readonly world: World;
  readonly code: AgentCode;
  readonly edgeUrl: string;
  readonly hostId: string;
  readonly hostToken: string;
  readonly inventory: Inventory;
  /** Of the worker that begins a job. */
  readonly faults: (spec: WorkerSpec) => WorkerFaults;
  readonly runtimeFaults: RuntimeFaults;
  readonly observer: WorkerObserver;
  readonly requests: RequestObserver & { readonly conversations: SocketObserver };
  readonly commands: CommandObserver;
  readonly jobsPerWorker: number;
  /** Typical time that the start of a container takes, ms. */
  readonly startMs: number;
  /** The output of a new container on a host whose clock is this; null when containers print nothing. */
  readonly openOutput: (spec: WorkerSpec, clock: () => number) => PrintedOutput | null;
  /** Hears what the agent logs. */
  readonly onLog: (event: string, fields: object) => void;
};

const RESTART_MS = 1_000;

/** What the agent logs is in the trace. */
function logOf({ world, onLog }: HostOptions, machine: Machine) {
  const write = (event: string, fields?: object): void => {
    onLog(event, fields ?? {});
    if (world.isTraced) world.note(machine, `logs ${event} ${JSON.stringify(fields ?? {})}`);
  };
  return { debug: write, info: write, warn: write, error: write };
}

export class SimulatedHost {
  readonly machine: Machine;
  readonly containers: Containers;
  readonly images = new HostImages();
  readonly hostId: string;
  readonly inventory: Inventory;
  isUp = false;
  /** Its owner has asked for its removal. */
  isRemoved = false;
  /** Its agent was refused, and stays down. */
  #hasLeft = false;
  #code: AgentCode;
  #isDiskFull = false;
  readonly #outputs: PrintedOutput[] = [];
  readonly stateDir: string;
  readonly #options: HostOptions;

  constructor(options: HostOptions) {
    const { world, faults, observer, hostId, jobsPerWorker } = options;
    this.#options = options;
    this.#code = options.code;
    this.hostId = hostId;
    this.inventory = options.inventory;
    this.stateDir = `/state/${hostId}`;
    this.machine = new Machine(`agent ${hostId}`);
    const { requests } = options;
    const run = (container: Container): void => {
      const program = { world, containers: this.containers, faults };
      const port = servedPort(container.spec);
      if (port === undefined) runWorker({ ...program, observer, jobsPerWorker }, container);
      else
        runRequestWorker(
          { ...program, observer: requests, sockets: requests.conversations },
          container,
          port,
        );
    };
    const clock = (): number => world.now + this.machine.clockAheadMs;
    this.containers = new Containers(world, run, (spec) => {
      const output = options.openOutput(spec, clock);
      if (output) this.#outputs.push(output);
      return output;
    });
  }

  /** Starts the agent. */
  start(): void {
    if (this.#hasLeft) return;
    const { world, edgeUrl, hostToken, inventory } = this.#options;
    this.isUp = true;
    world.note(this.machine, "starts");
    const refused = Promise.withResolvers<void>();
    void world.on(this.machine, async () => {
      try {
        const agent = await this.#code.Agent.start({
          edgeUrl,
          hostToken,
          stateDir: this.stateDir,
          runtime: asRuntime(this.#runtime()),
          inventory,
          readInventory: async () => inventory,
          log: logOf(this.#options, this.machine),
          onUnauthorized: refused.resolve,
        });
        await refused.promise;
        await agent.stop({ removeWorkers: true });
        this.#hasLeft = true;
        this.kill();
      } catch (error) {
        if (!this.containers.isBroken && !this.#isDiskFull) return void world.uncaught.push(error);
        // Its process ends, and whatever supervises it starts it again.
        world.crash(this.machine);
        breakServersOf(this.machine);
        world.schedule(this.machine, RESTART_MS, "agent starts again", () => this.start());
      }
    });
  }

  #runtime(): SimulatedRuntime {
    const { world, startMs, runtimeFaults: faults } = this.#options;
    const { containers, images } = this;
    return new SimulatedRuntime({
      world,
      containers,
      images,
      startMs,
      faults,
      observer: this.#runtimeObserver,
    });
  }

  get #runtimeObserver(): RuntimeObserver {
    const { observer, requests, commands } = this.#options;
    return {
      commands,
      stopped: (container) => {
        observer.stopped(container);
        requests.left(container);
      },
      frozen: (container) => {
        requests.left(container);
        commands.frozen(container);
      },
    };
  }

  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /** Another version of the agent takes over, with its next start. */
  upgrade(code: AgentCode): void {
    this.#code = code;
    if (!this.isUp) return;
    this.kill();
    this.start();
  }

  /** Another program gets the port of the agent, whose next one listens on another. */
  losePort(): void {
    takePortOf(this.machine);
  }

  /** Whether the files of the agent can grow. */
  set isDiskFull(isFull: boolean) {
    this.#isDiskFull = isFull;
    setDiskFull(this.stateDir, isFull);
  }

  /** The agent and all containers end at once, and so does what had not reached the disk; a lying one has it late. */
  losePower(lateMs: number): void {
    const { world, observer } = this.#options;
    this.kill();
    for (const container of this.containers.all.values()) this.containers.exit(container, 137);
    if (lateMs > 0) observer.resultsLost(this.containers.all.values(), world.now - lateMs);
    const choose = (limit: number): number => world.random.whole(0, limit);
    losePower(this.stateDir, { honestUntil: world.now - lateMs, choose });
    if (this.#isDiskFull) setDiskFull(this.stateDir, true);
  }

  /** kill -9 of the agent. */
  kill(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.#options.world.crash(this.machine);
    breakServersOf(this.machine);
    for (const output of this.#outputs) output.agentKilled();
  }
}
