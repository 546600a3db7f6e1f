/**
 * The files of apps on this host.
 *
 * A1  They are downloaded once per digest, however many workers need them. They, and half downloads, survive a
 *     restart of the agent.
 * A2  Only bytes of the announced SHA-256 are unpacked, into a folder that gets its name once it is complete.
 * A3  What an assigned worker may request, a worker uses, or is being downloaded is never removed. Of the rest the
 *     least recently used goes first when the disk gets full.
 */
import { errorMessage } from "../../src/std/errors.ts";
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import { KeyedMutex } from "../../src/std/keyed-mutex.ts";
import { type AgentLog, SILENT_LOG } from "../core/log.ts";
import { type SharedOptions, SharedWork, PULL_PROGRESS_MS } from "../core/shared-work.ts";
import { type DiskSpace, type EvictionSource, isNoSpace, type Removable } from "../disk/disk-space.ts";
import {
  type ArtifactPlace,
  ArtifactDirectory,
  type BytecodeWriter,
  type StoredArtifact,
} from "./artifact-directory.ts";
import { type ArtifactSourceOptions, download, DownloadError } from "./artifact-download.ts";
import { ArchiveError } from "./unpacking.ts";

/** Time without a byte after which the download of an artifact continues with another call. */
const ARTIFACT_STALL_MS = 30_000;
/** Free disk that a host requires before a download, as a multiple of the packed artifact. */
const ARTIFACT_DISK_FACTOR = 4;

export type ArtifactStoreOptions = {
  readonly stateDirectory: string;
  readonly disk: DiskSpace;
  readonly log?: AgentLog | undefined;
  /** SHA-256s that workers of this host have, running or not. */
  readonly usedByWorkers: () => Promise<ReadonlySet<string>>;
  readonly stallMs?: number | undefined;
  readonly progressMs?: number | undefined;
};

export type ArtifactOutcome =
  | { readonly kind: "prepared" }
  | { readonly kind: "failed"; readonly detail: string };

const NEVER = new AbortController().signal;

export class ArtifactStore implements EvictionSource {
  readonly #options: ArtifactStoreOptions;
  readonly #log: AgentLog;
  readonly #directory: ArtifactDirectory;
  readonly #work: SharedWork<Artifact>;
  /** An aborted download may still be ending when the next one begins. */
  readonly #mutex = new KeyedMutex();
  readonly #downloading = new Set<string>();
  #source: ArtifactSourceOptions | null = null;
  #opened: Promise<void> | null = null;

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    this.#log = options.log ?? SILENT_LOG;
    this.#directory = new ArtifactDirectory(options.stateDirectory);
    this.#work = new SharedWork({
      keyOf: ({ sha256 }) => sha256,
      work: (artifact, shared) => this.#mutex.run(artifact.sha256, () => this.#fetch(artifact, shared)),
      intervalMs: options.progressMs ?? PULL_PROGRESS_MS,
    });
  }

  /** To be called before anything is prepared. */
  configureCache(source: ArtifactSourceOptions): void {
    this.#source = source;
    this.#options.disk.add(this);
  }

  /** Where the files are once they were prepared; null for a worker without any. */
  place(artifact: Artifact | undefined): ArtifactPlace | null {
    return artifact ? this.#directory.place(artifact.sha256) : null;
  }

  /** The same for a worker of an image, with its bytecode where that is here. */
  placeFor({ sha256 }: Artifact, imageId: string): Promise<ArtifactPlace> {
    return this.#directory.placeFor(sha256, imageId);
  }

  takesBytecode({ sha256 }: Artifact, imageId: string): Promise<boolean> {
    return this.#directory.takesBytecode(sha256, imageId);
  }

  /** Adds the bytecode in the gzipped tar archive that `write` puts at a path. Throws what it throws, and of the disk. */
  async addBytecode(
    { sha256 }: Artifact,
    imageId: string,
    write: BytecodeWriter,
    signal: AbortSignal,
  ): Promise<void> {
    await (this.#opened ??= this.#directory.open());
    await this.#directory.addBytecode(sha256, imageId, write, signal);
  }

  /** Downloads and unpacks the files unless they are on this host; ends early when aborted. */
  async prepare(
    artifact: Artifact,
    onProgress: (detail: string) => void,
    signal: AbortSignal = NEVER,
  ): Promise<ArtifactOutcome> {
    try {
      if (!(await this.#directory.touch(artifact.sha256)))
        await this.#work.share(artifact, onProgress, signal);
      return { kind: "prepared" };
    } catch (error) {
      return { kind: "failed", detail: failureMessage(error) };
    }
  }

  /** SHA-256 of all whose files are here. */
  async stored(): Promise<readonly string[]> {
    const artifacts = await this.#directory.list();
    return artifacts.filter(({ isComplete }) => isComplete).map(({ sha256 }) => sha256);
  }

  close(): void {
    this.#options.disk.close();
  }

  async removable(): Promise<readonly Removable[]> {
    return (await this.#unused()).map((artifact) => {
      const { sizeBytes, lastUsedAt } = artifact;
      return { sizeBytes, lastUsedAt, remove: () => this.#remove(artifact) };
    });
  }

  async freeableBytes(): Promise<number> {
    return (await this.#unused()).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  }

  // Downloading

  async #fetch(artifact: Artifact, shared: SharedOptions): Promise<void> {
    const { sha256, sizeBytes } = artifact;
    const { disk } = this.#options;
    this.#downloading.add(sha256);
    try {
      await (this.#opened ??= this.#directory.open());
      if (await this.#directory.touch(sha256)) return;
      const beganAt = performance.now();
      await disk.ensureFree(sizeBytes * ARTIFACT_DISK_FACTOR);
      await this.#fetchAndUnpack(artifact, shared);
      const durationMs = Math.round(performance.now() - beganAt);
      this.#log.info("artifact_stored", { sha256, sizeBytes, durationMs });
    } finally {
      this.#downloading.delete(sha256);
    }
  }

  async #fetchAndUnpack(artifact: Artifact, { signal, onProgress }: SharedOptions): Promise<void> {
    const { disk, stallMs = ARTIFACT_STALL_MS } = this.#options;
    const { artifacts: source } = this.#requireSource();
    for (;;) {
      try {
        const path = this.#directory.incomingPath(artifact.sha256);
        await download(artifact, path, { source, stallMs, onProgress, signal });
        onProgress("unpacking the app's files");
        return await this.#directory.store(artifact.sha256, signal);
      } catch (error) {
        if (!isNoSpace(error) || !(await disk.evictOne())) throw error;
      }
    }
  }

  // Removing

  async #unused(): Promise<StoredArtifact[]> {
    const inUse = await this.#inUse();
    const artifacts = await this.#directory.list();
    for (const { sha256, isComplete } of artifacts)
      if (isComplete && inUse.has(sha256)) await this.#directory.touch(sha256);
    return artifacts.filter(({ sha256 }) => !inUse.has(sha256));
  }

  async #inUse(): Promise<ReadonlySet<string>> {
    const usedByWorkers = await this.#options.usedByWorkers();
    const { assignedArtifacts } = this.#requireSource();
    return new Set([...usedByWorkers, ...assignedArtifacts(), ...this.#downloading]);
  }

  async #remove(artifact: StoredArtifact): Promise<boolean> {
    const { sha256, sizeBytes } = artifact;
    if ((await this.#inUse()).has(sha256)) return false; // in use since it was chosen
    await this.#directory.remove(artifact);
    this.#log.info("artifact_removed", { sha256, sizeBytes });
    return true;
  }

  #requireSource(): ArtifactSourceOptions {
    if (!this.#source) throw new Error("The agent has not configured where files of apps come from.");
    return this.#source;
  }
}

function failureMessage(error: unknown): string {
  if (error instanceof DownloadError) return error.message;
  if (error instanceof ArchiveError) return `The app's archive is not unpacked: it ${error.message}.`;
  if (isNoSpace(error)) return "The app's files do not fit on this host's disk. Free space on it.";
  const reason = errorMessage(error);
  return `The app's files could not be put on this host's disk: ${reason}.`;
}
