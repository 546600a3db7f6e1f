/** Containers of the agent's runtime on the first GPU of this machine. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerExit, WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";

const LOOK_MS = 200;
const LOOKS = 600;
const MIB = 2 ** 20;

export type GpuWorker = {
  /** Whether it prints this within two minutes. */
  readonly printed: (text: string) => Promise<boolean>;
  /** Why it ended. */
  readonly ended: () => Promise<string>;
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

export class GpuHost implements AsyncDisposable {
  readonly #image: string;
  readonly #runtime: DockerRuntime;
  readonly #exits = new Map<string, WorkerExit>();

  private constructor(image: string) {
    const name = `edgerun-bench-${randomUUID().slice(0, 8)}`;
    this.#image = image;
    this.#runtime = new DockerRuntime({ hostId: name, networkName: name, hasRealGpus: true });
    this.#runtime.watch((exit) => this.#exits.set(exit.workerId, exit));
  }

  static async open(image: string): Promise<GpuHost> {
    const host = new GpuHost(image);
    const prepared = await host.#runtime.prepare(host.#spec("", {}), ({ detail }) => {
      if (detail !== null) console.log(`      ${detail}`);
    });
    if (prepared.kind === "failed") throw new Error(prepared.detail);
    return host;
  }

  /** Runs a program of Python to its end; returns what it printed. */
  async run(program: string): Promise<string> {
    const spec = this.#spec(program, {});
    await this.#runtime.start(spec);
    await this.#ended(spec.workerId);
    return (await this.#runtime.lastLines(spec.workerId, 20)).join("\n");
  }

  /** A worker that takes so many MiB of the GPU, has declared others, and stays. */
  async start(takenMb: number, declaredMb: number): Promise<GpuWorker> {
    const size = takenMb * MIB;
    const program = `import torch, time; x = torch.ones(${size}, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); print("allocated", flush=True); time.sleep(3600)`;
    const spec = this.#spec(program, { gpuMemoryMb: declaredMb });
    const { workerId } = spec;
    await this.#runtime.start(spec);
    return {
      printed: (text) => this.#prints(workerId, text),
      ended: () => this.#ended(workerId),
      freeze: () => this.#runtime.freeze(workerId),
      thaw: () => this.#runtime.thaw(workerId),
      remove: () => this.#runtime.remove(workerId),
    };
  }

  async running(): Promise<readonly string[]> {
    const all = await this.#runtime.list();
    return all.filter(({ isRunning }) => isRunning).map(({ workerId }) => workerId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { workerId } of await this.#runtime.list()) await this.#runtime.remove(workerId);
    await this.#runtime.removeNetwork();
    await this.#runtime.close();
  }

  #spec(program: string, changes: Partial<WorkerSpec>): WorkerSpec {
    return {
      workerId: `w-${randomUUID().slice(0, 8)}`,
      endpointId: "bench",
      revision: 1,
      imageName: this.#image,
      dockerArgs: `python -c '${program}'`,
      env: {},
      containerDiskInGb: 20,
      gpuIndexes: [0],
      registryAuth: null,
      ...changes,
    };
  }

  async #prints(workerId: string, text: string): Promise<boolean> {
    for (let looks = 0; looks < LOOKS && !this.#exits.has(workerId); looks += 1) {
      if ((await this.#runtime.lastLines(workerId, 5)).join("\n").includes(text)) return true;
      await delay(LOOK_MS);
    }
    return false;
  }

  async #ended(workerId: string): Promise<string> {
    for (let looks = 0; looks < LOOKS; looks += 1) {
      const exit = this.#exits.get(workerId);
      if (exit) return exit.reason;
      await delay(LOOK_MS);
    }
    return "it did not end";
  }
}
