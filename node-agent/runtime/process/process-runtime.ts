/**
 * Runs each worker as a plain process of this machine, for hosts without Docker. It isolates nothing.
 *
 * P1  A worker and all that it starts end together: when its first process ends, the rest is killed.
 * P2  A worker belongs to a pid and its start, so a pid that was given out again is never taken for a worker.
 * P3  Workers survive their agent; the next agent finds them by their records on disk.
 */
import { ignoreFailure } from "../../../src/std/errors.ts";
import { within } from "../../../src/std/waiting.ts";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import type { Socket } from "node:net";
import { setInterval as every } from "node:timers/promises";
import { ArtifactStore } from "../../artifacts/artifact-store.ts";
import type { ArtifactPlace } from "../../artifacts/artifact-directory.ts";
import type { AgentLog } from "../../core/log.ts";
import { modelEnvironment } from "../../models/model-environment.ts";
import { type HostModel, modelIdsOf } from "../../../src/contract/model.ts";
import { ModelStore, type ModelStoreOptions } from "../../models/model-store.ts";
import { StoredContents } from "../interface/stored-contents.ts";
import type { Volumes } from "../../disk/volumes.ts";
import { filesContent } from "../../../src/contract/content.ts";
import { DiskSpace } from "../../disk/disk-space.ts";
import { type Ending, exitReason } from "../interface/exit-reason.ts";
import { OutputFile, boundLog, lastLinesOfLog } from "./output-file.ts";
import type { CommandRequest, RunningCommand } from "../interface/command.ts";
import type { OutputReader } from "../interface/output.ts";
import { freePorts, socketsOfProcesses } from "../interface/sockets.ts";
import { runBeside } from "./process-command.ts";
import { connectToSocket } from "./process-port.ts";
import { killAll, membersOf, signalAll, type WorkerProcesses } from "./process-members.ts";
import {
  type ProcessRecord,
  readRecord,
  writeRecord,
  createWorkerDirectory,
  removeWorkerDirectory,
  type WorkerDirectory,
  workerDirectory,
  workerIdsOnDisk,
} from "./worker-directory.ts";
import { readProcess } from "../../host/process-table.ts";
import {
  type CacheOptions,
  gpuDevicesOf,
  type FoundWorker,
  type ListeningSocket,
  prepareAll,
  type PrepareOutcome,
  type PrepareProgress,
  type Preparing,
  type Runtime,
  type ServerPorts,
  type WorkerExit,
  type WorkerSpec,
} from "../interface/runtime.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";
import { spawnWorker } from "./worker-process.ts";

/** How often adopted workers are checked, and logs truncated to their bounds. */
const CHECK_INTERVAL_MS = 200;

export type ProcessRuntimeOptions = {
  readonly stateDirectory: string;
  /** True when gpuIndexes are GPUs of this machine: the environment of a worker then lists its own. */
  readonly hasRealGpus: boolean;
  /** Holds the Python package `edgerun`, for live workers; absent where their Python has it itself. */
  readonly pythonPackage?: string | undefined;
  /** Absent where the host has no network volumes. */
  readonly volumes?: Volumes;
  /** The disk that the state directory is on; files of apps are never removed where it is not set. */
  readonly disk?: DiskSpace;
  /** What models may take of it, and how they are downloaded. */
  readonly models?: Pick<ModelStoreOptions, "maxBytes" | "stallMs" | "progressMs" | "retry">;
  readonly log?: AgentLog;
};

const ENDLESS = { freeBytes: async () => null, reserveBytes: 0, checkIntervalMs: 3_600_000 };

/** A worker that this runtime has started or adopted. */
type TrackedWorker = {
  record: ProcessRecord;
  readonly directory: WorkerDirectory;
  /** Children emit an event at their end; adopted workers must be polled. */
  readonly isAdopted: boolean;
  readonly ended: Promise<WorkerExit>;
  readonly settle: (exit: WorkerExit) => void;
  /** The reader of its log. */
  output?: OutputFile;
};

export class ProcessRuntime implements Runtime {
  readonly kind = "process";
  readonly #options: ProcessRuntimeOptions;
  readonly #workers = new Map<string, TrackedWorker>();
  readonly #mutex = new KeyedMutex();
  readonly #watches = new Set<(worker: TrackedWorker) => void>();
  readonly #closing = new AbortController();
  readonly #artifacts: ArtifactStore;
  readonly #contents = new StoredContents(async () => (await this.#artifacts.stored()).map(filesContent));
  readonly #models: ModelStore;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    const { stateDirectory, disk = new DiskSpace(ENDLESS), log } = options;
    this.#artifacts = new ArtifactStore({
      stateDirectory,
      disk,
      log,
      usedByWorkers: () => this.#usedArtifacts(),
    });
    this.#models = new ModelStore({
      stateDirectory,
      disk,
      ...options.models,
      log,
      usedByWorkers: () => this.#usedModels(),
    });
    void this.#checkLoop();
  }

  async agentAddress(): Promise<string> {
    return "127.0.0.1";
  }

  /** Processes reach whatever this machine reaches. */
  async admit(): Promise<void> {}

  // Servers

  /** All workers share the ports of this machine, so each gets ports of its own. */
  /** Processes share the addresses of the host. */
  async followClusters(): Promise<void> {}

  async portsFor(requested: ServerPorts): Promise<ServerPorts> {
    const [port = 0, other = 0] = await freePorts(2);
    return { port, healthPort: requested.healthPort === requested.port ? port : other };
  }

  async locateServer(_workerId: string, { port, healthPort }: ServerPorts) {
    return { host: "127.0.0.1", port, healthPort };
  }

  async listening(workerId: string): Promise<readonly ListeningSocket[] | null> {
    const worker = await this.#find(workerId);
    return worker ? socketsOfProcesses(await membersOf(processesOf(worker))) : null;
  }

  // Commands and ports

  /** Its variables are those that its first process was started with. */
  async exec(workerId: string, request: CommandRequest): Promise<RunningCommand> {
    const { record, directory } = await this.#requireActive(workerId);
    return runBeside({ pid: record.pid, directory: directory.workPath, mark: directory.path }, request);
  }

  async connect(workerId: string, port: number): Promise<Socket> {
    const worker = await this.#requireActive(workerId);
    const sockets = await socketsOfProcesses(await membersOf(processesOf(worker)));
    return connectToSocket(
      sockets?.find((socket) => socket.port === port),
      port,
    );
  }

  async #requireActive(workerId: string): Promise<TrackedWorker> {
    const worker = await this.#find(workerId);
    if (!worker || worker.record.exit !== null) throw new Error(`Worker ${workerId} does not run.`);
    if (worker.record.isFrozen) throw new Error(`Worker ${workerId} is on standby.`);
    return worker;
  }

  /** Plain processes have no limits that their use could be compared with. */
  async use(): Promise<null> {
    return null;
  }

  // Files of apps, and models

  /** Processes use no images. */
  async prepare(
    { artifact, models }: WorkerSpec,
    onProgress: (progress: PrepareProgress) => void,
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    const preparations: Preparing[] = [];
    if (artifact) {
      preparations.push({
        what: "files",
        run: (onDetail) => this.#artifacts.prepare(artifact, onDetail, signal),
      });
    }
    if (models) {
      preparations.push({
        what: "models",
        run: (onDetail) => this.#models.prepare(models, onDetail, signal),
      });
    }
    return prepareAll(preparations, (progress) => {
      if (progress.detail === null) this.#contents.refresh();
      onProgress(progress);
    });
  }

  configureCache(options: CacheOptions): void {
    this.#artifacts.configureCache(options);
    this.#models.configureCache(options);
  }

  async freeableBytes(): Promise<number> {
    return (await this.#options.disk?.freeableBytes()) ?? 0;
  }

  async #usedArtifacts(): Promise<ReadonlySet<string>> {
    await this.#adoptAll();
    return new Set([...this.#workers.values()].flatMap(({ record }) => record.artifact ?? []));
  }

  async #usedModels(): Promise<ReadonlySet<string>> {
    await this.#adoptAll();
    return new Set([...this.#workers.values()].flatMap(({ record }) => record.models ?? []));
  }

  /** Throws where the files are no longer on this host, so that they are prepared again. */
  async #placeOf({ artifact }: WorkerSpec): Promise<ArtifactPlace | null> {
    const place = this.#artifacts.place(artifact);
    if (place) await access(place.appPath);
    return place;
  }

  storedContents(): readonly string[] {
    return this.#contents.latest;
  }

  storedModels(): readonly HostModel[] {
    return this.#models.stored;
  }

  async imageDigest(): Promise<null> {
    return null;
  }

  // Starting

  start(spec: WorkerSpec): Promise<void> {
    return this.#mutex.run(spec.workerId, () => this.#startIfAbsent(spec));
  }

  async #startIfAbsent(spec: WorkerSpec): Promise<void> {
    const found = await this.#find(spec.workerId);
    if (found && found.record.exit === null) return;
    await this.#removeNow(spec.workerId);
    const directory = this.#directory(spec.workerId);
    await createWorkerDirectory(directory);
    try {
      const place = await this.#placeOf(spec);
      const hostEnvironment = { ...this.#gpuEnvironment(spec), ...(await this.#volumeEnvironment(spec)) };
      const share = { place, pythonPackage: this.#options.pythonPackage, hostEnvironment };
      const spawned = await spawnWorker(this.#withModels(spec), directory, share);
      const { workerId, endpointId, revision } = spec;
      const { pid, start } = spawned;
      const files = { artifact: spec.artifact?.sha256, models: [...modelIdsOf(spec.models)] };
      const record = { workerId, endpointId, revision, ...files, pid, start, isFrozen: false, exit: null };
      const worker = this.#track(record, directory, false);
      // Settling writes the record, too: it must not be overtaken by this first write.
      await writeRecord(directory.path, record).finally(() => {
        void spawned.ended.then((ending) => this.#settle(worker, ending));
      });
    } catch (error) {
      await this.#removeNow(spec.workerId);
      throw error;
    }
  }

  /** Nothing can be mounted for a process: it sees all models of this host. */
  #withModels(spec: WorkerSpec): WorkerSpec {
    return spec.models ? { ...spec, env: modelEnvironment(spec.env, this.#models.hubPath) } : spec;
  }

  #gpuEnvironment(spec: WorkerSpec): Readonly<Record<string, string>> {
    if (!this.#options.hasRealGpus) return {};
    return { CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: gpuDevicesOf(spec).join(",") };
  }

  /** Nothing can be mounted for a process, so its environment has the path of its volume. */
  async #volumeEnvironment({
    networkVolumeIds = [],
    pod,
  }: WorkerSpec): Promise<Readonly<Record<string, string>>> {
    const path = (await this.#options.volumes?.pathOfFirst(networkVolumeIds)) ?? pod?.volumePath ?? null;
    return path === null ? {} : { EDGERUN_VOLUME: path };
  }

  // Freezing

  freeze(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#setFrozen(workerId, true));
  }

  thaw(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#setFrozen(workerId, false));
  }

  async #setFrozen(workerId: string, isFrozen: boolean): Promise<void> {
    const worker = await this.#find(workerId);
    if (!worker || worker.record.exit !== null) throw new Error(`Worker ${workerId} does not run.`);
    if (worker.record.isFrozen === isFrozen) return;
    worker.record = { ...worker.record, isFrozen };
    await writeRecord(worker.directory.path, worker.record);
    await signalAll(processesOf(worker), isFrozen ? "SIGSTOP" : "SIGCONT");
  }

  // Stopping

  async stop(workerId: string, graceMs: number): Promise<void> {
    await this.#mutex.settled(workerId); // a start under way must not outlive this call
    const worker = await this.#find(workerId);
    if (!worker) return;
    if (graceMs > 0) {
      await signalAll(processesOf(worker), "SIGTERM");
      if (worker.record.isFrozen) await signalAll(processesOf(worker), "SIGCONT");
      if (await within(graceMs, worker.ended, null)) return;
    }
    await killAll(processesOf(worker));
    await worker.ended;
  }

  remove(workerId: string): Promise<void> {
    return this.#mutex.run(workerId, () => this.#removeNow(workerId));
  }

  async #removeNow(workerId: string): Promise<void> {
    const directory = this.#directory(workerId);
    const worker = await this.#find(workerId);
    if (!worker && !existsSync(directory.path)) return;
    await killAll(worker ? processesOf(worker) : { directory: directory.path, leader: null, since: "" });
    await worker?.ended;
    await removeWorkerDirectory(directory);
    this.#workers.delete(workerId);
  }

  // Looking

  async list(): Promise<readonly FoundWorker[]> {
    await this.#adoptAll();
    return [...this.#workers.values()].map(({ record }) => {
      const { workerId, endpointId, revision, isFrozen, exit } = record;
      const isRunning = exit === null;
      return {
        workerId,
        endpointId,
        revision,
        isRunning,
        isFrozen: isRunning && isFrozen,
        exitCode: exit?.exitCode ?? null,
      };
    });
  }

  async lastLines(workerId: string, count: number): Promise<readonly string[]> {
    return lastLinesOfLog(this.#directory(workerId), count);
  }

  async output(workerId: string, reader: OutputReader): Promise<void> {
    const worker = await this.#find(workerId);
    if (!worker || reader.signal.aborted) return;
    const file = new OutputFile(worker.directory, reader);
    file.watch();
    worker.output = file;
    await Promise.race([worker.ended, once(reader.signal, "abort")]);
    await (reader.signal.aborted ? file.close() : file.finish());
    if (worker.output === file) delete worker.output;
  }

  /** Also reports workers that ended before and were not removed yet, once per watch. */
  watch(onExit: (exit: WorkerExit) => void): () => void {
    const follow = (worker: TrackedWorker): void => {
      void worker.ended.then((exit) => {
        if (this.#watches.has(follow)) onExit(exit);
      });
    };
    this.#watches.add(follow);
    for (const worker of this.#workers.values()) follow(worker);
    void this.#adoptAll().catch(ignoreFailure); // `list` reports the same failure
    return () => void this.#watches.delete(follow);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#artifacts.close();
    this.#models.close();
    this.#watches.clear();
  }

  // Adopting (P3)

  async #adoptAll(): Promise<void> {
    const workerIds = await workerIdsOnDisk(this.#options.stateDirectory);
    await Promise.all(workerIds.map((workerId) => this.#mutex.run(workerId, () => this.#adopt(workerId))));
  }

  async #adopt(workerId: string): Promise<void> {
    if (await this.#find(workerId)) return;
    // An agent was killed between making the directory and writing the record.
    await this.#removeNow(workerId);
  }

  async #find(workerId: string): Promise<TrackedWorker | undefined> {
    const tracked = this.#workers.get(workerId);
    if (tracked) return tracked;
    const directory = this.#directory(workerId);
    const record = await readRecord(directory.path);
    // Looked up again: another call may have adopted it while the record was read.
    if (record === null || this.#workers.has(workerId)) return this.#workers.get(workerId);
    const worker = this.#track(record, directory, true);
    if (record.exit) worker.settle({ workerId, ...record.exit });
    else await this.#check(worker);
    return worker;
  }

  #track(record: ProcessRecord, directory: WorkerDirectory, isAdopted: boolean): TrackedWorker {
    const { promise: ended, resolve: settle } = Promise.withResolvers<WorkerExit>();
    const worker: TrackedWorker = { record, directory, isAdopted, ended, settle };
    this.#workers.set(record.workerId, worker);
    for (const follow of this.#watches) follow(worker);
    return worker;
  }

  // Ending

  async #checkLoop(): Promise<void> {
    const ticks = every(CHECK_INTERVAL_MS, undefined, { ref: false, signal: this.#closing.signal });
    try {
      for await (const _tick of ticks) {
        await Promise.all([...this.#workers.values()].map((worker) => this.#check(worker)));
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    }
  }

  async #check(worker: TrackedWorker): Promise<void> {
    if (worker.record.exit !== null) return;
    await worker.output?.readOn();
    const isCut = await boundLog(worker.directory).catch(() => false); // the next look tries again
    if (isCut) await worker.output?.truncated();
    if (!worker.isAdopted) return;
    const found = await readProcess(worker.record.pid);
    const isAlive = found !== null && !found.isZombie && found.start === worker.record.start; // P2
    if (isAlive) return;
    // The agent that started it may have recorded how it ended.
    const stored = await readRecord(worker.directory.path);
    await this.#settle(worker, stored?.exit ?? { exitCode: null });
  }

  async #settle(worker: TrackedWorker, ending: Ending): Promise<void> {
    if (worker.record.exit !== null) return;
    const { workerId } = worker.record;
    const processes = processesOf(worker);
    const exit = { exitCode: ending.exitCode, reason: exitReason(ending) };
    worker.record = { ...worker.record, exit };
    await killAll(processes).catch(ignoreFailure); // P1; a process that does not end makes remove fail
    await writeRecord(worker.directory.path, worker.record).catch(ignoreFailure); // removed already
    worker.settle({ workerId, ...exit });
  }

  #directory(workerId: string): WorkerDirectory {
    return workerDirectory(this.#options.stateDirectory, workerId);
  }
}

/** After its end only marked processes are a worker's: the pid may have been given out again (P2). */
function processesOf({ record, directory }: TrackedWorker): WorkerProcesses {
  return { directory: directory.path, leader: record.exit === null ? record : null, since: record.start };
}
