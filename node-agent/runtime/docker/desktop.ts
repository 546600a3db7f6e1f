/**
 * What differs on a developer's computer (`edgerun-agent run --desktop`): workers share its GPUs, the files of apps run on
 * the platform that they are built for, and Docker may run in a virtual machine, on whose networks this computer has no
 * address.
 */
import Dockerode from "dockerode";
import { readGpus } from "../../gpu/nvidia-smi.ts";
import type { ServerPorts, WorkerSpec } from "../interface/runtime.ts";
import { isOwnAddress } from "../daemon/docker-facts.ts";

/** What artifacts are built for. */
const ARTIFACT_PLATFORM = "linux/amd64";
/** What containers call the computer on which Docker's virtual machine runs. */
const HOST_NAME = "host.docker.internal";
const LOOPBACK = "127.0.0.1";
const NVIDIA_RUNTIME = "nvidia";

/** Indexes of the GPUs that Docker can give to containers; none without NVIDIA's runtime. */
export async function readDesktopGpus(): Promise<readonly number[]> {
  const { Runtimes = {} } = (await new Dockerode().info()) as { readonly Runtimes?: object };
  const reading = Object.hasOwn(Runtimes, NVIDIA_RUNTIME) ? await readGpus() : undefined;
  return reading?.kind === "found" ? reading.gpus.map(({ index }) => index) : [];
}

export class Desktop {
  readonly #gpuIndexes: readonly number[];
  #isInVirtualMachine = false;

  /** `gpuIndexes`: GPUs of this computer that containers can have. */
  constructor(gpuIndexes: readonly number[]) {
    this.#gpuIndexes = gpuIndexes;
  }

  /** Where containers reach this computer; `gateway` is the host's address on their network. */
  async agentAddress(gateway: string): Promise<string> {
    this.#isInVirtualMachine = !(await isOwnAddress(gateway));
    return this.#isInVirtualMachine ? HOST_NAME : gateway;
  }

  /** The worker with as many of the GPUs of this computer as it may have; other workers may have the same. */
  withSharedGpus(spec: WorkerSpec): WorkerSpec {
    return { ...spec, gpuIndexes: this.#gpuIndexes.slice(0, spec.gpuIndexes.length) };
  }

  /** Platform of the worker's image; undefined for Docker's own. */
  platformOf({ artifact }: Pick<WorkerSpec, "artifact">): string | undefined {
    return artifact && ARTIFACT_PLATFORM;
  }

  /** Adds what makes the container runnable, and reachable, on this computer. */
  adapt(options: Dockerode.ContainerCreateOptions, spec: WorkerSpec): Dockerode.ContainerCreateOptions {
    const platform = this.platformOf(spec);
    return {
      ...options,
      ...(platform && { platform }),
      ...(this.#isInVirtualMachine && reachableOptions(options, spec.serverPorts)),
    };
  }

  /** Where this computer reaches the server of a worker; undefined where the container's own address is reachable. */
  publishedServer(
    { NetworkSettings }: Dockerode.ContainerInspectInfo,
    { port, healthPort }: ServerPorts,
  ): ({ readonly host: string } & ServerPorts) | undefined {
    if (!this.#isInVirtualMachine) return undefined;
    const published = (inside: number): number =>
      Number(NetworkSettings.Ports[`${inside}/tcp`]?.[0]?.HostPort ?? 0);
    return { host: LOOPBACK, port: published(port), healthPort: published(healthPort) };
  }
}

/** The system chooses the ports of this computer. */
function reachableOptions(
  { HostConfig }: Dockerode.ContainerCreateOptions,
  ports: ServerPorts | undefined,
): Pick<Dockerode.ContainerCreateOptions, "ExposedPorts" | "HostConfig"> {
  const names = ports ? [...new Set([ports.port, ports.healthPort])].map((port) => `${port}/tcp`) : [];
  return {
    ExposedPorts: Object.fromEntries(names.map((name) => [name, {}])),
    HostConfig: {
      ...HostConfig,
      ExtraHosts: [`${HOST_NAME}:host-gateway`],
      PortBindings: Object.fromEntries(names.map((name) => [name, [{ HostIp: LOOPBACK, HostPort: "" }]])),
    },
  };
}
