/** What an agent runs workers with: the containers of its host, each call of which takes time. */
import type {
  FoundWorker,
  PrepareOutcome,
  PrepareProgress,
  Runtime,
  ServerPorts,
  WorkerExit,
  WorkerSpec,
} from "../../../node-agent/runtime/interface/runtime.ts";
import type { WorkerContainers } from "../../../node-agent/runtime/docker/worker-containers.ts";
import type { OutputReader } from "../../../node-agent/runtime/interface/output.ts";
import { place } from "../world/globals.ts";
import type { World } from "../world/world.ts";
import { type CommandRequest, StartLoss } from "../../../node-agent/runtime/interface/command.ts";
import { type CommandObserver, SimulatedCommand } from "./commands.ts";
import type { Container, Containers } from "./containers.ts";
import { dockerContainers } from "./container-daemon.ts";
import { EchoSocket } from "./echo-socket.ts";
import type { HostImages } from "./images.ts";

const SIGTERM_EXIT = 143;
/** For so long the daemon waits for the end of a container that it removes. */
const REMOVAL_MS = 10_000;
const LOOK_MS = 100;

/** Is told what an agent is about to do with a container that runs. */
export type RuntimeObserver = {
  readonly stopped: (container: Container) => void;
  readonly frozen: (container: Container) => void;
  readonly commands: CommandObserver;
};

/** What goes wrong with containers and images, each time that it may. */
export type RuntimeFaults = {
  /** The program of a container does not end when it is asked to. */
  readonly ignoresStop: () => boolean;
  /** For how long a container stays that was killed, ms. */
  readonly killHangsMs: () => number;
  /** How long a pull takes longer, ms. */
  readonly pullDelayMs: () => number;
  /** A pull has failed. */
  readonly pullFailed: () => void;
};

export type RuntimeParts = {
  readonly world: World;
  readonly containers: Containers;
  readonly images: HostImages;
  /** Typical time of a start. */
  readonly startMs: number;
  readonly faults: RuntimeFaults;
  readonly observer: RuntimeObserver;
};

export class SimulatedRuntime {
  readonly kind = "process";
  readonly #world: World;
  readonly #containers: Containers;
  readonly #images: HostImages;
  readonly #startMs: number;
  readonly #faults: RuntimeFaults;
  readonly #observer: RuntimeObserver;
  /** Reads what containers print. */
  readonly #docker: WorkerContainers;

  constructor({ world, containers, images, startMs, faults, observer }: RuntimeParts) {
    this.#world = world;
    this.#containers = containers;
    this.#images = images;
    this.#startMs = startMs;
    this.#faults = faults;
    this.#observer = observer;
    this.#docker = dockerContainers(world, containers);
  }

  async agentAddress(): Promise<string> {
    return "127.0.0.1";
  }

  async admit(): Promise<void> {}

  async followClusters(): Promise<void> {}

  async portsFor<Ports>(requested: Ports): Promise<Ports> {
    return requested;
  }

  async listening(): Promise<null> {
    return null;
  }

  async prepare(
    { imageName }: WorkerSpec,
    onProgress: (progress: PrepareProgress) => void,
  ): Promise<PrepareOutcome> {
    await this.#pass(this.#startMs);
    if (this.#images.has(imageName)) return { kind: "prepared" };
    onProgress({ what: "image", detail: "downloading" });
    const delayMs = this.#faults.pullDelayMs();
    if (delayMs > 0) await pause(delayMs);
    if (this.#images.pull(imageName)) return { kind: "prepared" };
    this.#faults.pullFailed();
    return { kind: "failed", detail: "the registry does not answer" };
  }

  configureCache(): void {}

  storedContents(): readonly [] {
    return [];
  }

  storedModels(): readonly [] {
    return [];
  }

  async freeableBytes(): Promise<number> {
    return 0;
  }

  async imageDigest(): Promise<string> {
    return "sha256:image";
  }

  async start(spec: WorkerSpec): Promise<void> {
    await this.#pass(this.#startMs);
    this.#containers.start(spec);
    await this.#answer();
  }

  async freeze(workerId: string): Promise<void> {
    await this.#pass(20);
    const container = this.#running(workerId);
    this.#observer.frozen(container);
    container.isFrozen = true;
  }

  async thaw(workerId: string): Promise<void> {
    await this.#pass(20);
    this.#containers.thaw(this.#running(workerId));
  }

  async stop(workerId: string, graceMs: number): Promise<void> {
    await this.#pass(Math.min(graceMs, 50));
    const container = this.#containers.all.get(workerId);
    if (!container?.isRunning) return;
    if (graceMs > 0 && !container.isHanging) {
      if (this.#faults.ignoresStop()) await this.#untilEnded(container, graceMs);
      else this.#end(container, () => this.#containers.exit(container, SIGTERM_EXIT));
    }
    this.#kill(container);
    await this.#untilEnded(container, Infinity);
    await this.#answer();
  }

  #kill(container: Container): void {
    this.#end(container, () => this.#containers.kill(container, this.#faults.killHangsMs()));
  }

  #end(container: Container, act: () => void): void {
    if (!container.isRunning || container.isHanging) return;
    this.#observer.stopped(container);
    act();
  }

  async #untilEnded(container: Container, limitMs: number): Promise<void> {
    const endAt = this.#world.now + limitMs;
    while (container.isRunning && this.#world.now < endAt) {
      await pause(LOOK_MS);
      if (this.#containers.isBroken) throw new Error("The container daemon does not answer.");
    }
  }

  async remove(workerId: string): Promise<void> {
    await this.#pass(50);
    const container = this.#containers.all.get(workerId);
    if (container) {
      this.#kill(container);
      await this.#untilEnded(container, REMOVAL_MS);
      if (container.isRunning) throw new Error("The container was killed, but does not end.");
    }
    this.#containers.remove(workerId);
    await this.#answer();
  }

  async list(): Promise<readonly FoundWorker[]> {
    await this.#pass(20);
    return [...this.#containers.all.values()].map(({ spec, isRunning, isFrozen, exitCode }) => ({
      workerId: spec.workerId,
      endpointId: spec.endpointId,
      revision: spec.revision,
      isRunning,
      isFrozen,
      exitCode,
    }));
  }

  async use(): Promise<null> {
    return null;
  }

  async lastLines(workerId: string, count: number): Promise<readonly string[]> {
    if (!this.#containers.all.get(workerId)?.output) return [];
    return await this.#docker.lastLines(workerId, count);
  }

  async output(workerId: string, reader: OutputReader): Promise<void> {
    if (!this.#containers.all.get(workerId)?.output) return;
    await this.#docker.output(workerId, reader);
  }

  watch(onExit: (exit: WorkerExit) => void): () => void {
    const { machine } = place() as NonNullable<ReturnType<typeof place>>;
    const reported = ({ spec, exitCode }: Container): void =>
      onExit({ workerId: spec.workerId, exitCode, reason: `exited with code ${exitCode}` });
    return this.#containers.watch({ machine, life: machine.life, onExit: reported });
  }

  async close(): Promise<void> {}

  async locateServer(workerId: string, ports: ServerPorts): Promise<ServerPorts & { readonly host: string }> {
    await this.#pass(5);
    return { ...ports, host: this.#running(workerId).address };
  }

  /** Whatever its port: to a program that sends back what it gets. */
  async connect(workerId: string): Promise<EchoSocket> {
    await this.#pass(5);
    const container = this.#running(workerId);
    const { machine } = place() as NonNullable<ReturnType<typeof place>>;
    return new EchoSocket(this.#world, machine, container, this.#containers.openSockets);
  }

  /** Whatever the command. */
  async exec(workerId: string, request: CommandRequest): Promise<SimulatedCommand> {
    await this.#pass(5);
    const { all, openSockets } = this.#containers;
    const container = all.get(workerId);
    if (!container?.isRunning) throw new StartLoss("container_ended", "The container has ended.");
    if (container.isFrozen) throw new Error(`Worker ${workerId} is on standby.`);
    const { machine: agent } = place() as NonNullable<ReturnType<typeof place>>;
    const observer = this.#observer.commands;
    return new SimulatedCommand(
      { world: this.#world, agent, container, observer, open: openSockets },
      request,
    );
  }

  #running(workerId: string): Container {
    const container = this.#containers.all.get(workerId);
    if (!container?.isRunning) throw new Error(`The worker ${workerId} does not run.`);
    return container;
  }

  /** The daemon may have done what it was told and break before it says so. */
  async #answer(): Promise<void> {
    await this.#pass(5);
  }

  async #pass(typicalMs: number): Promise<void> {
    this.#containers.noticed();
    if (this.#containers.isBroken) throw new Error("The container daemon does not answer.");
    const delayMs = this.#world.random.delay(typicalMs);
    await pause(delayMs);
    if (this.#containers.isBroken) throw new Error("The container daemon does not answer.");
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Whatever runs workers may grow operations that the simulation has no use for. */
export function asRuntime(runtime: SimulatedRuntime): Runtime {
  return runtime as unknown as Runtime;
}
