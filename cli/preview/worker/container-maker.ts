/** What Docker is asked to make for the workers of a preview: what a host asks for, and what makes it callable here. */
import type Dockerode from "dockerode";
import { workerEnvironment } from "../../../node-agent/worker/environment.ts";
import { containerOptions, VOLUME_MOUNT } from "../../../node-agent/runtime/docker/container-options.ts";
import { isConflict, startFailure } from "../../../node-agent/runtime/daemon/docker-errors.ts";
import type { Gpu } from "../../../src/contract/agent/agent.ts";
import { Failure } from "../../core/failure.ts";
import { imageVariable } from "../images.ts";
import { CONTAINER_PREFIX, type Site } from "../site.ts";
import type { WorkerPlan } from "../worker-plan.ts";
import { type PreviewContainer, startContainer } from "./preview-container.ts";

const PIDS_LIMIT = 16_384;
const LOOPBACK = "127.0.0.1";

export type MakerSettings = {
  readonly docker: Dockerode;
  readonly site: Site;
  /** Where containers reach this process. */
  readonly access: { readonly address: string; readonly port: number };
  /** The app's files, and the archive that they came in. */
  readonly files: { readonly appPath: string; readonly archivePath: string };
  /** The GPUs of this computer that containers can have. */
  readonly gpus: readonly Gpu[];
  readonly cpuCount: number;
  /** Of images that run the app's files, which are built for it; undefined where it is Docker's own. */
  readonly platform: string | undefined;
};

/** As whom a container comes back to this process. */
type Bearer = { readonly id: string; readonly token: string };

export class ContainerMaker {
  readonly #settings: MakerSettings;

  constructor(settings: MakerSettings) {
    this.#settings = settings;
  }

  /** Where containers reach this process. */
  get address(): string {
    const { address, port } = this.#settings.access;
    return `${address}:${port}`;
  }

  /** `place`: ports of this computer that an earlier container had. Throws a Failure where Docker refuses. */
  async start(
    plan: WorkerPlan,
    bearer: Bearer,
    place: { readonly port: number; readonly healthPort: number } | null,
  ): Promise<PreviewContainer> {
    const options = await this.#options(plan, bearer);
    const name = `${CONTAINER_PREFIX}${plan.name}`;
    const names = [name, `${name}-${this.#settings.site.id}`];
    for (const ports of place === null ? [null] : [place, null]) {
      const published = withPorts(options, plan, ports);
      try {
        return await this.#startUnder(names, published);
      } catch (error) {
        if (ports === null) throw new Failure(startFailure(plan.endpointId, plan.imageName, error));
      }
    }
    throw new Error("A container was neither started nor refused.");
  }

  /** Another preview may run an endpoint of the same name. */
  async #startUnder(
    [name = "", ...others]: readonly string[],
    options: Dockerode.ContainerCreateOptions,
  ): Promise<PreviewContainer> {
    try {
      return await startContainer(this.#settings.docker, { ...options, name });
    } catch (error) {
      if (others.length === 0 || !isConflict(error)) throw error;
      return await this.#startUnder(others, options);
    }
  }

  async #options(plan: WorkerPlan, bearer: Bearer): Promise<Dockerode.ContainerCreateOptions> {
    const { site, access, gpus, cpuCount } = this.#settings;
    const own = gpus.slice(0, plan.gpuCount);
    const assigned = { workerId: bearer.id, endpointId: plan.endpointId, env: { ...plan.variables } };
    const options = containerOptions(
      {
        ...plan,
        workerId: bearer.id,
        revision: 1,
        env: workerEnvironment(assigned, { ...access, token: bearer.token }, own),
        containerDiskInGb: 0,
        gpuIndexes: own.map(({ index }) => index),
        registryAuth: null,
      },
      {
        hostId: site.id,
        networkName: site.networkName,
        hasRealGpus: gpus.length > 0,
        clearsPreloads: false, // the image is the person's own
        pidsLimit: PIDS_LIMIT,
        cpuCount,
      },
      { volumePath: null, artifact: await this.#artifact(plan), hasDiskQuota: false },
    );
    return {
      ...options,
      ...(plan.hasArtifact && { platform: this.#settings.platform }),
      Labels: { ...site.labels },
      ...this.#around(plan, options),
    };
  }

  async #artifact(plan: WorkerPlan) {
    if (!plan.hasArtifact) return null;
    const { docker, files } = this.#settings;
    return { ...files, imagePythonPath: await imageVariable(docker, plan.imageName, "PYTHONPATH") };
  }

  /** Peers reach it by the name of its endpoint; its volume is one of this preview alone. */
  #around(
    { name, volume }: WorkerPlan,
    { HostConfig, Env = [] }: Dockerode.ContainerCreateOptions,
  ): Pick<Dockerode.ContainerCreateOptions, "HostConfig" | "NetworkingConfig" | "Env"> {
    const { site, access } = this.#settings;
    const aliases = [name, `${CONTAINER_PREFIX}${name}`];
    return {
      NetworkingConfig: { EndpointsConfig: { [site.networkName]: { Aliases: aliases } } },
      Env: volume === undefined ? Env : [...Env, `EDGERUN_VOLUME=${VOLUME_MOUNT}`],
      HostConfig: {
        ...HostConfig,
        ...(access.address === DOCKER_HOST_NAME && { ExtraHosts: [`${DOCKER_HOST_NAME}:host-gateway`] }),
        ...(volume !== undefined && {
          Mounts: [...(HostConfig?.Mounts ?? []), volumeMount(site, volume)],
        }),
      },
    };
  }
}

/** What containers call this computer where Docker runs in a machine of its own. */
export const DOCKER_HOST_NAME = "host.docker.internal";

function volumeMount(site: Site, volume: string): Dockerode.MountSettings {
  const Source = `${site.networkName}-${volume.replaceAll(/[^\w.-]/g, "_")}`;
  return {
    ...{ Type: "volume", Source, Target: VOLUME_MOUNT },
    VolumeOptions: {
      NoCopy: true,
      Labels: { ...site.labels },
      DriverConfig: { Name: "local", Options: {} },
    },
  };
}

/** Without wanted ones the system chooses. */
function withPorts(
  options: Dockerode.ContainerCreateOptions,
  { server }: WorkerPlan,
  wanted: { readonly port: number; readonly healthPort: number } | null,
): Dockerode.ContainerCreateOptions {
  if (server === null) return options;
  const bindings = new Map([
    [server.healthPort, wanted?.healthPort],
    [server.port, wanted?.port],
  ]);
  const published = [...bindings].map(([port, hostPort]): [string, Dockerode.PortBinding[]] => [
    `${port}/tcp`,
    [{ HostIp: LOOPBACK, HostPort: hostPort === undefined ? "" : String(hostPort) }],
  ]);
  return {
    ...options,
    ExposedPorts: Object.fromEntries(published.map(([port]) => [port, {}])),
    HostConfig: { ...options.HostConfig, PortBindings: Object.fromEntries(published) },
  };
}
