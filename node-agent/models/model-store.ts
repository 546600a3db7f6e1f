/**
 * The models on this host, shared by all workers.
 *
 * M1  A model is downloaded once, however many workers need it. What came of it survives a restart of the agent.
 * M2  Only contents with the announced hashes are stored, and a worker sees a snapshot only when all of it is there.
 * M3  A model that an assigned worker may request, a worker uses, or is being downloaded is never removed. Of the rest
 *     the least recently used goes first, when the disk gets full or models would take more than they may.
 * M4  Where the hub does not answer, a branch or tag is what it was when it was last asked for.
 */
import {
  type AssignedModels,
  commitSchema,
  HOST_MODELS_MAX,
  type HostModel,
  type Model,
  readModelReference,
} from "../../src/contract/model.ts";
import { errorMessage, ignoreFailure } from "../../src/std/errors.ts";
import { KeyedMutex } from "../../src/std/keyed-mutex.ts";
import { formatProgress, formatSize } from "../core/format.ts";
import { type AgentLog, SILENT_LOG } from "../core/log.ts";
import { PULL_PROGRESS_MS, type SharedOptions, SharedWork } from "../core/shared-work.ts";
import {
  type DiskSpace,
  type EvictionSource,
  isNoSpace,
  MODEL_CACHE_DEFAULT_GB,
  type Removable,
} from "../disk/disk-space.ts";
import { downloadBlob, type RetryPolicy } from "./blob-download.ts";
import { Gate } from "./gate.ts";
import { HubClient, nameOf } from "./hub-client.ts";
import { ModelDirectory, type StoredModel } from "./model-directory.ts";
import { ModelError } from "./model-error.ts";
import { blobsOf, type ModelFile } from "./model-listing.ts";

/** Time without a byte after which the download of a file continues with another call. */
const MODEL_STALL_MS = 30_000;
const RETRY: RetryPolicy = { baseMs: 1_000, capMs: 30_000 };
/** Files that a host downloads at the same time. */
const FILES_AT_ONCE = 4;
const GIGABYTE = 1_000_000_000;

export type ModelStoreOptions = {
  readonly stateDirectory: string;
  readonly disk: DiskSpace;
  readonly log?: AgentLog | undefined;
  /** Ids of models that workers of this host have, running or not. */
  readonly usedByWorkers: () => Promise<ReadonlySet<string>>;
  /** What models may take of the disk. */
  readonly maxBytes?: number | undefined;
  readonly stallMs?: number | undefined;
  readonly progressMs?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
};

/** What a runtime learns only after it was created. */
export type ModelNeedsOptions = {
  /** Ids of the models of the assigned workers. */
  readonly assignedModels: () => ReadonlySet<string>;
};

export type ModelOutcome =
  | { readonly kind: "prepared"; readonly warning?: string }
  | { readonly kind: "failed"; readonly detail: string };

type Request = Pick<AssignedModels, "source" | "token"> & { readonly model: Model };
type Snapshot = { readonly commit: string; readonly warning?: string | undefined };

const NEVER = new AbortController().signal;

export class ModelStore implements EvictionSource {
  readonly #options: ModelStoreOptions;
  readonly #log: AgentLog;
  readonly #maxBytes: number;
  readonly #directory: ModelDirectory;
  readonly #work: SharedWork<Request>;
  /** By model: an aborted download may still be ending when the next one begins. */
  readonly #mutex = new KeyedMutex();
  readonly #gate = new Gate(FILES_AT_ONCE);
  /** Models that are being downloaded, with the bytes that they will have. */
  readonly #downloading = new Map<string, number>();
  /** Why a stored snapshot was taken, of the latest request of each model. */
  readonly #warnings = new Map<string, string>();
  #stored: readonly HostModel[] = [];
  #needs: ModelNeedsOptions | null = null;
  #opened: Promise<void> | null = null;

  constructor(options: ModelStoreOptions) {
    this.#options = options;
    this.#log = options.log ?? SILENT_LOG;
    this.#maxBytes = options.maxBytes ?? MODEL_CACHE_DEFAULT_GB * GIGABYTE;
    this.#directory = new ModelDirectory(options.stateDirectory);
    this.#work = new SharedWork({
      keyOf: ({ source, token, model }) => JSON.stringify([source, token, model]),
      work: (request, shared) => this.#mutex.run(request.model.id, () => this.#ensure(request, shared)),
      intervalMs: options.progressMs ?? PULL_PROGRESS_MS,
    });
  }

  /** To be called before anything is prepared. */
  configureCache(needs: ModelNeedsOptions): void {
    this.#needs = needs;
    this.#options.disk.add(this);
    void this.#look().catch(ignoreFailure); // the next change looks again
  }

  /** Whole models that were here after the last change, the last used first. */
  get stored(): readonly HostModel[] {
    return this.#stored;
  }

  /** One look after another: an earlier one never has the last word. */
  #look(): Promise<void> {
    return this.#mutex.run("look", async () => {
      this.#stored = reportOf(await this.#directory.list());
    });
  }

  /** Where the libraries find all models of this host. */
  get hubPath(): string {
    return this.#directory.hubPath;
  }

  /** Where a model is, once it was prepared. */
  folder(id: string): string {
    return this.#directory.modelPath(id);
  }

  close(): void {
    this.#options.disk.close();
  }

  /** Downloads the models unless they are on this host; ends early when aborted. */
  async prepare(
    { source, token, references }: AssignedModels,
    onProgress: (detail: string) => void,
    signal: AbortSignal = NEVER,
  ): Promise<ModelOutcome> {
    const models = references.map(readModelReference);
    try {
      for (const model of models) await this.#work.share({ source, token, model }, onProgress, signal);
    } catch (error) {
      return { kind: "failed", detail: failureMessage(error) };
    }
    const warnings = models.flatMap((model) => this.#warnings.get(nameOf(model)) ?? []);
    return warnings.length === 0 ? { kind: "prepared" } : { kind: "prepared", warning: warnings.join(" ") };
  }

  // Downloading

  async #ensure(request: Request, shared: SharedOptions): Promise<void> {
    const { model } = request;
    this.#downloading.set(model.id, 0);
    try {
      await (this.#opened ??= this.#directory.open());
      const hub = this.#hubOf(request);
      const { commit, warning } = await this.#commitOf(model, hub, shared.signal);
      if (warning === undefined) this.#warnings.delete(nameOf(model));
      else this.#warnings.set(nameOf(model), warning);
      if (!(await this.#directory.touch(model.id, commit))) await this.#download(model, commit, hub, shared);
      await this.#directory.saveRef(model, commit);
      await this.#look();
    } finally {
      this.#downloading.delete(model.id);
    }
  }

  #hubOf({ source, token }: Request): HubClient {
    return new HubClient({ source, token, answerLimitMs: this.#stallMs });
  }

  async #commitOf(model: Model, hub: HubClient, signal: AbortSignal): Promise<Snapshot> {
    if (commitSchema.safeParse(model.revision).success) return { commit: model.revision };
    try {
      return { commit: await hub.commitOf(model, signal) };
    } catch (error) {
      const stored = await this.#directory.ref(model);
      const mayStand = error instanceof ModelError && error.isTransient; // M4
      if (!mayStand || stored === null || !(await this.#directory.touch(model.id, stored))) throw error;
      return { commit: stored, warning: `${error.message} The copy on this host is used, commit ${stored}.` };
    }
  }

  async #download(model: Model, commit: string, hub: HubClient, shared: SharedOptions): Promise<void> {
    const beganAt = performance.now();
    const files = await hub.files(model, commit, shared.signal);
    await this.#reserve(model, blobsOf(files));
    await this.#directory.createModel(model.id);
    for (;;) {
      try {
        await this.#downloadBlobs(model, commit, hub, blobsOf(files), shared);
        break;
      } catch (error) {
        if (!isNoSpace(error) || !(await this.#options.disk.evictOne())) throw error;
      }
    }
    await this.#directory.addSnapshot(model.id, commit, files);
    const durationMs = Math.round(performance.now() - beganAt);
    this.#log.info("model_stored", { model: model.id, commit, sizeBytes: sizeOfAll(files), durationMs });
  }

  async #downloadBlobs(
    model: Model,
    commit: string,
    hub: HubClient,
    files: readonly ModelFile[],
    { signal, onProgress }: SharedOptions,
  ): Promise<void> {
    const present = new Map<string, number>();
    for (const file of files) present.set(file.blob, await this.#directory.presentBytes(model.id, file.blob));
    const report = (): void => onProgress(progressMessage(model, present, files));
    report();
    const { retry = RETRY } = this.#options;
    await this.#gate.each(files, signal, async (file, ending) => {
      if (await this.#directory.hasBlob(model.id, file)) return;
      const onBytes = (bytes: number): void => {
        present.set(file.blob, bytes);
        report();
      };
      const path = this.#directory.blobPath(model.id, file.blob);
      await downloadBlob(model, file, path, {
        hub,
        commit,
        retry,
        stallMs: this.#stallMs,
        onBytes,
        signal: ending,
      });
    });
  }

  get #stallMs(): number {
    return this.#options.stallMs ?? MODEL_STALL_MS;
  }

  // Space

  /** Removes what nobody uses until the model fits into what models may take of the disk. */
  async #reserve(model: Model, files: readonly ModelFile[]): Promise<void> {
    const missingBytes = await this.#missingBytes(model.id, files);
    await this.#mutex.run("space", async () => {
      for (;;) {
        const stored = await this.#directory.list();
        const own = (stored.find(({ id }) => id === model.id)?.sizeBytes ?? 0) + missingBytes;
        const others = stored.filter(({ id }) => id !== model.id).map((one) => this.#bytesOf(one));
        const totalBytes = others.reduce((sum, bytes) => sum + bytes, own);
        if (totalBytes <= this.#maxBytes) return void this.#downloading.set(model.id, own);
        if (!(await this.#evictOne())) throw this.#tooLarge(model, own);
      }
    });
    await this.#options.disk.ensureFree(missingBytes);
  }

  async #missingBytes(id: string, files: readonly ModelFile[]): Promise<number> {
    const missing = files.map(
      async ({ blob, sizeBytes }) => sizeBytes - (await this.#directory.presentBytes(id, blob)),
    );
    return (await Promise.all(missing)).reduce((sum, bytes) => sum + Math.max(0, bytes), 0);
  }

  #bytesOf({ id, sizeBytes }: StoredModel): number {
    return Math.max(sizeBytes, this.#downloading.get(id) ?? 0);
  }

  #tooLarge(model: Model, bytes: number): ModelError {
    return new ModelError(
      `${nameOf(model)} takes ${formatSize(bytes)}, which does not fit into the ${formatSize(this.#maxBytes)} that ` +
        "models may take of this host's disk (--model-cache-gb) beside those in use.",
    );
  }

  // Removing

  async removable(): Promise<readonly Removable[]> {
    const inUse = await this.#inUse();
    const models = await this.#directory.list();
    await this.#noteUse(models.filter(({ id }) => inUse.has(id)));
    return models.filter(({ id }) => !inUse.has(id)).flatMap((model) => this.#removableOf(model));
  }

  async freeableBytes(): Promise<number> {
    const inUse = await this.#inUse();
    const unused = (await this.#directory.list()).filter(({ id }) => !inUse.has(id));
    return unused.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  }

  #removableOf({ id, snapshots, rest }: StoredModel): Removable[] {
    const parts = snapshots.map(({ commit, sizeBytes, lastUsedAt }) => ({
      sizeBytes,
      lastUsedAt,
      remove: () => this.#remove(id, sizeBytes, commit),
    }));
    if (rest.sizeBytes === 0) return parts;
    return [...parts, { ...rest, remove: () => this.#remove(id, rest.sizeBytes) }];
  }

  /** While workers run, their models are in use. */
  async #noteUse(models: readonly StoredModel[]): Promise<void> {
    for (const { id, snapshots } of models)
      for (const { commit } of snapshots) await this.#directory.touch(id, commit);
  }

  async #evictOne(): Promise<boolean> {
    const removable = (await this.removable()).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
    for (const one of removable) if (await one.remove()) return true;
    return false;
  }

  async #inUse(): Promise<ReadonlySet<string>> {
    if (!this.#needs) throw new Error("The agent has not configured which models its workers have.");
    const usedByWorkers = await this.#options.usedByWorkers();
    return new Set([...usedByWorkers, ...this.#needs.assignedModels(), ...this.#downloading.keys()]);
  }

  /** Without a commit: what no snapshot has. Never waits for a download, which may wait for the space itself. */
  async #remove(id: string, sizeBytes: number, commit?: string): Promise<boolean> {
    if (this.#mutex.keys().includes(id)) return false;
    return this.#mutex.run(id, async () => {
      if ((await this.#inUse()).has(id)) return false; // in use since it was chosen
      await (commit === undefined
        ? this.#directory.removeRest(id)
        : this.#directory.removeSnapshot(id, commit));
      await this.#look();
      this.#log.info("model_removed", { model: id, commit: commit ?? null, sizeBytes });
      return true;
    });
  }
}

function reportOf(models: readonly StoredModel[]): readonly HostModel[] {
  const snapshots = models.flatMap(({ id, snapshots: own }) => own.map((snapshot) => ({ id, ...snapshot })));
  return snapshots
    .toSorted((a, b) => b.lastUsedAt - a.lastUsedAt)
    .slice(0, HOST_MODELS_MAX)
    .map(({ id, commit, sizeBytes }) => ({ id, commit, sizeBytes }));
}

function sizeOfAll(files: readonly ModelFile[]): number {
  return blobsOf(files).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function progressMessage(
  model: Model,
  present: ReadonlyMap<string, number>,
  files: readonly ModelFile[],
): string {
  const totalBytes = sizeOfAll(files);
  const bytes = [...present.values()].reduce((sum, one) => sum + one, 0);
  const percent = totalBytes === 0 ? 100 : Math.floor((100 * bytes) / totalBytes);
  return `pulling model ${model.id} ${percent} % (${formatProgress(bytes, totalBytes)})`;
}

function failureMessage(error: unknown): string {
  if (error instanceof ModelError) return error.message;
  if (isNoSpace(error)) return "The model does not fit on this host's disk. Free space on it.";
  return `The model could not be put on this host's disk: ${errorMessage(error)}.`;
}
