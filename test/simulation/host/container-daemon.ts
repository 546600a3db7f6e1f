/** What the agent's code for Docker asks of the daemon about the output of containers. */
import type Dockerode from "dockerode";
import { HOST_LABEL } from "../../../node-agent/runtime/daemon/docker-calls.ts";
import { containerName } from "../../../node-agent/runtime/docker/container-options.ts";
import { WorkerContainers } from "../../../node-agent/runtime/docker/worker-containers.ts";
import { place } from "../world/globals.ts";
import type { World } from "../world/world.ts";
import type { Container, Containers } from "./containers.ts";
import { stampOf } from "./printed-output.ts";

type LogOptions = {
  readonly follow: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly abortSignal: AbortSignal;
};

const HOST = "host";
const CALL_MS = 2;
const NOT_FOUND = 404;

/** The containers of a host as the runtime for Docker has them. */
export function dockerContainers(world: World, containers: Containers): WorkerContainers {
  const getContainer = (name: string): DaemonContainer => new DaemonContainer(world, containers, name);
  const docker = { getContainer } as unknown as Dockerode;
  return new WorkerContainers(docker, docker, HOST);
}

class DaemonContainer {
  readonly #world: World;
  readonly #containers: Containers;
  readonly #name: string;

  constructor(world: World, containers: Containers, name: string) {
    this.#world = world;
    this.#containers = containers;
    this.#name = name;
  }

  async inspect(): Promise<unknown> {
    const { isRunning } = await this.#find();
    return { Config: { Labels: { [HOST_LABEL]: HOST } }, State: { Running: isRunning } };
  }

  async logs({ follow, tail = 0, since, abortSignal }: LogOptions): Promise<unknown> {
    const { output } = await this.#find();
    if (!output) return Buffer.alloc(0);
    if (!follow) return output.tail(tail);
    output.readBy(place()?.machine.life);
    return output.follow(since === undefined ? "" : stampOf(since), abortSignal);
  }

  async #find(): Promise<Container> {
    await new Promise((resolve) => setTimeout(resolve, this.#world.random.delay(CALL_MS)));
    if (this.#containers.isBroken) throw new Error("The container daemon does not answer.");
    for (const [workerId, container] of this.#containers.all)
      if (containerName(workerId) === this.#name) return container;
    throw Object.assign(new Error("no such container"), { statusCode: NOT_FOUND });
  }
}
