import Dockerode from "dockerode";
import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { ArtifactStore, type ArtifactStoreOptions } from "../../artifacts/artifact-store.ts";
import type { AgentLog } from "../../core/log.ts";
import { type HostModel, modelIdsOf } from "../../../src/contract/model.ts";
import { ModelStore, type ModelStoreOptions } from "../../models/model-store.ts";
import { StoredContents } from "../interface/stored-contents.ts";
import type { Volumes } from "../../disk/volumes.ts";
import { filesContent, imageContent } from "../../../src/contract/content.ts";
import { BytecodeCompiler } from "./bytecode-compiler.ts";
import { ContainerExits } from "./container-exits.ts";
import {
  artifactsOfContainers,
  containerOptions,
  type ContainerSettings,
  type HostShare,
  modelsOfContainers,
  overriddenVariables,
} from "./container-options.ts";
import type { Desktop } from "./desktop.ts";
import type { DiskSpace } from "../../disk/disk-space.ts";
import { DiskWatch } from "./disk-watch.ts";
import { GpuMemoryWatch, type GpuMemoryWatchOptions } from "./gpu-memory-watch.ts";
import { runInContainer } from "./container-command.ts";
import { connectToContainer } from "./container-port.ts";
import { NamespaceDialer } from "./namespace-dialer.ts";
import { WorkerContainers } from "./worker-containers.ts";
import { withTimeLimit } from "../daemon/docker-calls.ts";
import { isQuotaUnsupported, startFailure, unreachableDaemon } from "../daemon/docker-errors.ts";
import { DockerImages, type ImageOptions } from "../images/docker-images.ts";
import type { ClusterNetwork } from "../../../src/contract/agent/agent.ts";
import { ClusterBridge } from "../network/cluster-bridge.ts";
import { GuardedNetwork } from "../network/guarded-network.ts";
import { type CommandRequest, type RunningCommand, StartLoss } from "../interface/command.ts";
import type { OutputReader } from "../interface/output.ts";
import { socketsOfNetwork } from "../interface/sockets.ts";
import {
  type CacheOptions,
  type ContainerUse,
  prepareAll,
  type Preparing,
  type FoundWorker,
  type ListeningSocket,
  type PrepareOutcome,
  type PrepareProgress,
  type Runtime,
  type ServerPorts,
  type WorkerExit,
  type WorkerSpec,
} from "../interface/runtime.ts";
import { ignoreFailure } from "../../../src/std/errors.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";

/** Time for Docker's daemon to answer a call that is not a stream. */
const DOCKER_CALL_LIMIT_MS = 60_000;

/** Docker's own name server inside of each container. */
const DOCKER_RESOLVER = "127.0.0.11";
const NETWORK_NAME = "edgerun-workers";
/** Enough for many model processes with a thread per core each, far below what a fork bomb needs. */
const PIDS_LIMIT = 16_384;

export type DockerRuntimeOptions = {
  /** Only containers that carry this id are seen or touched. */
  readonly hostId: string;
  /** False when GPUs are simulated: no device is requested from Docker then. */
  readonly hasRealGpus: boolean;
  /** The NVIDIA Container Toolkit of this host would load what a container names. */
  readonly clearsPreloads?: boolean;
  readonly pidsLimit?: number;
  readonly networkName?: string;
  /** IPv4 networks beyond the Internet that workers may reach. */
  readonly allowedNetworks?: readonly string[];
  /** IPv4 address of this machine at which other hosts reach pods of clusters; absent: they do not. */
  readonly clusterAddress?: string | undefined;
  /** Workers run also where nothing keeps them from the services of the host and its network. */
  readonly isOpenNetworkAllowed?: boolean;
  /** Registries that may be used although they are not on the Internet. */
  readonly allowedRegistries?: readonly string[];
  /** Present on a developer's computer. */
  readonly desktop?: Desktop | undefined;
  /** Absent where the host has no network volumes. */
  readonly volumes?: Volumes;
  /** Least time between two looks at how much a worker has written. */
  readonly diskCheckMs?: number;
  /** Where the MPS daemon of this host listens; absent where its owner runs none. */
  readonly mpsDirectory?: string | undefined;
  /** How the memory of GPUs is watched. */
  readonly gpuWatch?: Pick<GpuMemoryWatchOptions, "intervalMs" | "readProcesses">;
  readonly log?: AgentLog;
  readonly docker?: Dockerode;
  readonly images?: Partial<ImageOptions>;
  /** Where files of apps are stored; absent when no worker has any. */
  readonly artifacts?: ArtifactOptions;
  /** What models may take, and how they are downloaded; they are stored beside the files of apps. */
  readonly models?: Pick<ModelStoreOptions, "maxBytes" | "stallMs" | "progressMs" | "retry">;
  /** Time for the daemon to answer a call that is no stream. */
  readonly callLimitMs?: number;
};

export type ArtifactOptions = Pick<ArtifactStoreOptions, "stateDirectory" | "stallMs" | "progressMs"> & {
  /** Time from the start of a worker until its modules are compiled for later ones. */
  readonly bytecodeAfterMs?: number;
  /** The disk that they are on, where that is not the one of the images. */
  readonly disk?: DiskSpace;
};

/** Runs each worker as a Docker container. */
export class DockerRuntime implements Runtime {
  readonly kind = "docker";
  /** For short calls, each with a limit, so that a hanging daemon does not block a worker. */
  readonly #docker: Dockerode;
  /** For those that take as long as they take: events, pulls, waits. */
  readonly #streams: Dockerode;
  readonly #settings: ContainerSettings;
  readonly #containers: WorkerContainers;
  readonly #network: GuardedNetwork;
  readonly #contents = new StoredContents(() => this.#findContents());
  readonly #clusters: ClusterBridge;
  readonly #disk: DiskWatch;
  readonly #gpuMemory: GpuMemoryWatch;
  readonly #dialer = new NamespaceDialer();
  readonly #volumes: Volumes | undefined;
  readonly #desktop: Desktop | undefined;
  /** Whether Docker can bound a container's disk is known after the first try. */
  #hasDiskQuota = true;
  readonly #mutex = new KeyedMutex();
  readonly #watches = new Set<ContainerExits>();
  readonly #images: DockerImages;
  readonly #artifacts: ArtifactStore | undefined;
  readonly #bytecode: BytecodeCompiler | undefined;
  readonly #models: ModelStore | undefined;
  readonly #log: AgentLog | undefined;

  constructor(options: DockerRuntimeOptions) {
    this.#streams = options.docker ?? new Dockerode();
    this.#docker = withTimeLimit(this.#streams, options.callLimitMs ?? DOCKER_CALL_LIMIT_MS);
    this.#containers = new WorkerContainers(this.#docker, this.#streams, options.hostId);
    this.#settings = {
      hostId: options.hostId,
      hasRealGpus: options.hasRealGpus,
      clearsPreloads: options.clearsPreloads ?? false,
      networkName: options.networkName ?? NETWORK_NAME,
      clusterNetworkName: `${options.networkName ?? NETWORK_NAME}-clusters`,
      pidsLimit: options.pidsLimit ?? PIDS_LIMIT,
      cpuCount: availableParallelism(),
      mpsDirectory: options.mpsDirectory,
    };
    const network = {
      name: this.#settings.networkName,
      allowedNetworks: options.allowedNetworks ?? [],
      isOpenAllowed: options.isOpenNetworkAllowed ?? false,
    };
    const { diskCheckMs: intervalMs, log, images } = options;
    this.#network = new GuardedNetwork(this.#docker, network, log);
    this.#clusters = new ClusterBridge(
      this.#docker,
      {
        name: this.#settings.clusterNetworkName,
        allowedNetworks: network.allowedNetworks,
        clusterAddress: options.clusterAddress,
      },
      log,
    );
    this.#disk = new DiskWatch(this.#docker, options.hostId, { intervalMs, log });
    this.#gpuMemory = new GpuMemoryWatch(this.#docker, options.hostId, { ...options.gpuWatch, log });
    this.#volumes = options.volumes;
    this.#desktop = options.desktop;
    this.#log = log;
    const registries = {
      allowedRegistries: options.allowedRegistries ?? [],
      allowedNetworks: network.allowedNetworks,
    };
    this.#images = new DockerImages(
      { docker: this.#docker, streams: this.#streams },
      registries,
      log,
      images,
    );
    this.#artifacts = options.artifacts && this.#createArtifactStore(options.artifacts, log);
    this.#bytecode = this.#artifacts && this.#createCompiler(this.#artifacts, options);
    this.#models = options.artifacts && this.#createModelStore(options.artifacts, options.models, log);
  }

  async agentAddress(): Promise<string> {
    const gateway = await this.#network.gatewayAddress();
    return this.#desktop?.agentAddress(gateway) ?? gateway;
  }

  async admit(port: number): Promise<void> {
    this.#startWatches(); // workers of an earlier agent may be there
    await this.#network.admit(port);
    this.#clusters.admit({ gateway: await this.#network.gatewayAddress(), port });
  }

  #startWatches(): void {
    this.#disk.start();
    if (this.#settings.hasRealGpus) this.#gpuMemory.start();
  }

  followClusters(network: ClusterNetwork | undefined): Promise<void> {
    return this.#clusters.follow(network);
  }

  // Servers

  /** Each container has all ports to itself. */
  async portsFor(requested: ServerPorts): Promise<ServerPorts> {
    return requested;
  }

  async locateServer(workerId: string, ports: ServerPorts): Promise<ServerPorts & { readonly host: string }> {
    const container = await this.#containers.find(workerId);
    const published = container && this.#desktop?.publishedServer(container, ports);
    if (published) return published;
    const { networkName, clusterNetworkName } = this.#settings;
    const { Networks: networks = {} } = container?.NetworkSettings ?? {};
    const host = (networks[networkName] ?? networks[clusterNetworkName])?.IPAddress;
    if (!host) throw new Error(`The container of worker ${workerId} has no address in its network.`);
    return { host, port: ports.port, healthPort: ports.healthPort };
  }

  async listening(workerId: string): Promise<readonly ListeningSocket[] | null> {
    const container = await this.#containers.find(workerId);
    if (!container?.State.Running) return null;
    const sockets = await socketsOfNetwork(container.State.Pid);
    return sockets && sockets.filter(({ address }) => address !== DOCKER_RESOLVER);
  }

  // Commands and ports

  async exec(workerId: string, request: CommandRequest): Promise<RunningCommand> {
    try {
      const container = await this.#findActive(workerId);
      if (!container)
        throw new StartLoss("container_ended", `The container of worker ${workerId} does not run.`);
      return await runInContainer({ docker: this.#docker, streams: this.#streams, container }, request);
    } catch (error) {
      const unreachable = unreachableDaemon(error);
      throw unreachable === null ? error : new StartLoss("lost", unreachable, error);
    }
  }

  connect(workerId: string, port: number): Promise<Socket> {
    const find = () => this.#findActive(workerId);
    return connectToContainer({ find, networkName: this.#settings.networkName, port, dialer: this.#dialer });
  }

  /** The container, if it runs. Throws when it is frozen. */
  async #findActive(workerId: string): Promise<Dockerode.ContainerInspectInfo | null> {
    const container = await this.#containers.find(workerId);
    if (container?.State.Paused) throw new Error(`Worker ${workerId} is on standby.`);
    return container?.State.Running ? container : null;
  }

  use(workerId: string): Promise<ContainerUse | null> {
    return this.#containers.use(workerId);
  }

  // Images, files of apps, and models

  prepare(
    spec: WorkerSpec,
    onProgress: (progress: PrepareProgress) => void,
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    const { artifact, models } = spec;
    const image = {
      what: "image",
      run: (onDetail) =>
        this.#images.prepare({ ...spec, platform: this.#desktop?.platformOf(spec) }, onDetail, signal),
    } satisfies Preparing;
    const preparations: Preparing[] = [image];
    if (artifact) {
      const run: Preparing["run"] = (onDetail) =>
        this.#requireArtifacts().prepare(artifact, onDetail, signal);
      preparations.push({ what: "files", run });
    }
    if (models) {
      const run: Preparing["run"] = (onDetail) => this.#requireModels().prepare(models, onDetail, signal);
      preparations.push({ what: "models", run });
    }
    return prepareAll(preparations, (progress) => {
      if (progress.detail === null) this.#contents.refresh();
      onProgress(progress);
    });
  }

  storedContents(): readonly string[] {
    return this.#contents.latest;
  }

  async #findContents(): Promise<readonly string[]> {
    const [images, files] = await Promise.all([this.#docker.listImages(), this.#artifacts?.stored()]);
    const names = images.flatMap(({ RepoTags, RepoDigests }) => [
      ...(RepoTags ?? []),
      ...(RepoDigests ?? []),
    ]);
    const known = names.filter((name) => !name.includes("<none>"));
    return [...new Set(known.map(imageContent)), ...(files ?? []).map(filesContent)];
  }

  configureCache(options: CacheOptions): void {
    this.#images.configureCache(options);
    this.#artifacts?.configureCache(options);
    this.#models?.configureCache(options);
  }

  #createArtifactStore(options: ArtifactOptions, log: AgentLog | undefined): ArtifactStore {
    const usedByWorkers = async () => artifactsOfContainers(await this.#containers.all());
    return new ArtifactStore({ disk: this.#images.disk, ...options, log, usedByWorkers });
  }

  #createCompiler(artifacts: ArtifactStore, options: DockerRuntimeOptions): BytecodeCompiler | undefined {
    if (options.desktop) return undefined; // whose files are on another file system than the agent's
    const { hostId, log, artifacts: { bytecodeAfterMs: afterMs } = {} } = options;
    const clients = { docker: this.#docker, streams: this.#streams };
    return new BytecodeCompiler({ ...clients, hostId, artifacts, log, afterMs });
  }

  #createModelStore(
    { stateDirectory, disk = this.#images.disk }: ArtifactOptions,
    options: DockerRuntimeOptions["models"],
    log: AgentLog | undefined,
  ): ModelStore {
    const usedByWorkers = async () => modelsOfContainers(await this.#containers.all());
    return new ModelStore({ stateDirectory, disk, ...options, log, usedByWorkers });
  }

  #requireModels(): ModelStore {
    if (!this.#models) throw new Error("This runtime was created without a directory for models.");
    return this.#models;
  }

  #requireArtifacts(): ArtifactStore {
    if (!this.#artifacts) throw new Error("This runtime was created without a directory for files of apps.");
    return this.#artifacts;
  }

  /** Bytes that can be freed on the disk that images are on. */
  freeableBytes(): Promise<number> {
    return this.#images.disk.freeableBytes();
  }

  storedModels(): readonly HostModel[] {
    return this.#models?.stored ?? [];
  }

  async imageDigest(workerId: string): Promise<string | null> {
    const container = await this.#containers.find(workerId);
    return container && this.#images.digestOf(container);
  }

  // Starting

  start(spec: WorkerSpec): Promise<void> {
    return this.#mutex.run(spec.workerId, () => this.#startIfAbsent(spec));
  }

  async #startIfAbsent(spec: WorkerSpec): Promise<void> {
    try {
      const found = await this.#containers.find(spec.workerId);
      if (found?.State.Running) return;
      if (found) await this.#containers.removeFound(spec.workerId);
      this.#startWatches();
      const guarding = this.#network.ensure();
      guarding.catch(ignoreFailure); // it is awaited unless nothing was created
      await this.#createInNetwork(spec);
      await guarding;
      await this.#containers.get(spec.workerId).start();
    } catch (error) {
      await this.#containers.removeUnlessRunning(spec.workerId);
      throw new Error(startFailure(spec.workerId, spec.imageName, error), { cause: error });
    }
  }

  /** Nothing runs in it before its network is guarded, too. */
  async #createInNetwork(spec: WorkerSpec): Promise<void> {
    await this.#network.gatewayAddress();
    if (spec.pod?.clusterAddress !== undefined) await this.#clusters.ensure();
    await this.#create(spec);
  }

  async #create(requested: WorkerSpec): Promise<void> {
    const spec = this.#desktop?.withSharedGpus(requested) ?? requested;
    const volumePath = (await this.#volumes?.pathOfFirst(spec.networkVolumeIds ?? [])) ?? null;
    const share: HostShare = {
      volumePath,
      allowedVolumeBytes: await this.#allowedVolumeBytes(spec),
      artifact: await this.#artifactShare(spec),
      models: this.#modelShare(spec),
      hasDiskQuota: this.#hasDiskQuota && spec.containerDiskInGb > 0,
    };
    const overridden = overriddenVariables(spec, this.#settings);
    if (overridden.length > 0) {
      const fields = { workerId: spec.workerId, variables: overridden.join(", ") };
      this.#log?.warn("worker_environment_changed", fields);
    }
    try {
      const created = containerOptions(spec, this.#settings, share);
      await this.#docker.createContainer(this.#desktop?.adapt(created, spec) ?? created);
    } catch (error) {
      if (!share.hasDiskQuota || !isQuotaUnsupported(error)) throw error;
      this.#hasDiskQuota = false;
      await this.#create(requested);
    }
  }

  async #allowedVolumeBytes({ workerId, pod }: WorkerSpec): Promise<number> {
    return pod?.volumePath ? await this.#disk.allowedVolumeBytes(workerId, pod.volumePath) : 0;
  }

  async #artifactShare({ artifact, imageName }: WorkerSpec): Promise<HostShare["artifact"]> {
    if (!artifact) return null;
    const image = await this.#images.factsOf(imageName);
    const place = await this.#requireArtifacts().placeFor(artifact, image.id);
    this.#bytecode?.workerCreated(artifact, image.id);
    return { ...place, imagePythonPath: image.pythonPath };
  }

  #modelShare({ models }: WorkerSpec): HostShare["models"] {
    return modelIdsOf(models).map((id) => ({ id, path: this.#requireModels().folder(id) }));
  }

  // Freezing

  freeze(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#containers.setFrozen(workerId, true));
  }

  thaw(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#containers.setFrozen(workerId, false));
  }

  // Stopping

  async stop(workerId: string, graceMs: number): Promise<void> {
    await this.#mutex.settled(workerId); // a start under way must not outlive this call
    await this.#containers.stop(workerId, graceMs);
  }

  remove(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#containers.remove(workerId));
  }

  // Looking

  list(): Promise<readonly FoundWorker[]> {
    return this.#containers.list();
  }

  lastLines(workerId: string, count: number): Promise<readonly string[]> {
    return this.#containers.lastLines(workerId, count);
  }

  output(workerId: string, reader: OutputReader): Promise<void> {
    return this.#containers.output(workerId, reader);
  }

  /** Also reports workers that ended before and whose containers are still there, once per watch. */
  watch(onExit: (exit: WorkerExit) => void): () => void {
    const watch = new ContainerExits(
      this.#streams,
      this.#settings.hostId,
      onExit,
      (containerId) => this.#disk.reasonOf(containerId) ?? this.#gpuMemory.reasonOf(containerId),
      (workerId) => this.#containers.isStopping(workerId),
    );
    this.#watches.add(watch);
    void watch.run();
    return () => {
      watch.stop();
      this.#watches.delete(watch);
    };
  }

  async close(): Promise<void> {
    this.#bytecode?.stop();
    this.#images.close();
    this.#artifacts?.close();
    this.#models?.close();
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
    this.#disk.stop();
    this.#gpuMemory.stop();
    this.#dialer.close();
    this.#network.close();
    this.#clusters.close();
  }

  /** Takes the networks and their rules from the host. Fails while containers use them. */
  async removeNetwork(): Promise<void> {
    await this.#clusters.remove();
    await this.#network.remove();
  }
}
