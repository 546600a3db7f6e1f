/**
 * The files of apps that this host has for its workers.
 *
 * A1  They come once per digest, however many workers want them, and survive the agent; half a download does, too.
 * A2  Only bytes of the announced SHA-256 are unpacked, into a folder that gets its name when it is whole.
 * A3  What an assigned worker may ask for, a worker has, or is being brought, is never removed. Of the rest the
 *     longest unused goes first when the disk gets full.
 */
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import { ARTIFACT_DISK_FACTOR, ARTIFACT_STALL_MS } from "../../src/contract/flash/flash-limits.ts";
import { PULL_PROGRESS_MS } from "../../src/contract/limits.ts";
import type { AgentLog } from "../log.ts";
import { isNoSpace } from "../runtime/docker/docker-errors.ts";
import type { DiskSpace, EvictionSource, Removable } from "../disk/disk-space.ts";
import type { PrepareOutcome } from "../runtime/runtime.ts";
import { type SharedOptions, SharedWork } from "../async/shared-work.ts";
import { KeyedMutex } from "../async/keyed-mutex.ts";
import { type ArtifactSource, download, DownloadError } from "./artifact-download.ts";
import { type ArtifactPlace, ArtifactDirectory, type StoredArtifact } from "./artifact-directory.ts";
import { ArchiveError } from "./unpacking.ts";

export type ArtifactStoreOptions = {
  readonly stateDirectory: string;
  readonly source: ArtifactSource;
  readonly disk: DiskSpace;
  readonly log: Pick<AgentLog, "info" | "warn">;
  /** SHA-256s that workers of this host shall have. */
  readonly assigned: () => ReadonlySet<string>;
  /** SHA-256s that its workers have, running or not. */
  readonly usedByWorkers: () => Promise<ReadonlySet<string>>;
  readonly stallMs?: number | undefined;
  readonly progressMs?: number | undefined;
};

const NEVER = new AbortController().signal;

export class ArtifactStore implements EvictionSource {
  readonly #options: ArtifactStoreOptions;
  readonly #directory: ArtifactDirectory;
  readonly #work: SharedWork<Artifact>;
  /** Work that was called off may still be ending when the next begins. */
  readonly #mutex = new KeyedMutex();
  readonly #downloading = new Set<string>();
  #opened: Promise<void> | null = null;

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    this.#directory = new ArtifactDirectory(options.stateDirectory);
    this.#work = new SharedWork({
      keyOf: ({ sha256 }) => sha256,
      work: (artifact, shared) => this.#mutex.run(artifact.sha256, () => this.#fetch(artifact, shared)),
      intervalMs: options.progressMs ?? PULL_PROGRESS_MS,
    });
    options.disk.add(this);
  }

  /** Where the files are once they were prepared. */
  place(sha256: string): ArtifactPlace {
    return this.#directory.place(sha256);
  }

  /** Gets the files onto this host unless they are there already; ends early when called off. */
  async prepare(
    artifact: Artifact,
    onProgress: (detail: string) => void,
    signal: AbortSignal = NEVER,
  ): Promise<PrepareOutcome> {
    try {
      if (!(await this.#directory.touch(artifact.sha256)))
        await this.#work.share(artifact, onProgress, signal);
      return { kind: "prepared" };
    } catch (error) {
      return { kind: "failed", detail: failureMessage(error) };
    }
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

  // Bringing

  async #fetch(artifact: Artifact, shared: SharedOptions): Promise<void> {
    const { sha256, sizeBytes } = artifact;
    const { disk, log } = this.#options;
    this.#downloading.add(sha256);
    try {
      await (this.#opened ??= this.#directory.open());
      if (await this.#directory.touch(sha256)) return;
      const beganAt = performance.now();
      await disk.ensureFree(sizeBytes * ARTIFACT_DISK_FACTOR);
      await this.#fetchAndUnpack(artifact, shared);
      log.info("artifact_stored", { sha256, sizeBytes, durationMs: Math.round(performance.now() - beganAt) });
    } finally {
      this.#downloading.delete(sha256);
    }
  }

  async #fetchAndUnpack(artifact: Artifact, { signal, onProgress }: SharedOptions): Promise<void> {
    const { source, disk, stallMs = ARTIFACT_STALL_MS } = this.#options;
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

  // Parting

  async #unused(): Promise<StoredArtifact[]> {
    const inUse = await this.#inUse();
    const artifacts = await this.#directory.list();
    for (const { sha256, isComplete } of artifacts)
      if (isComplete && inUse.has(sha256)) await this.#directory.touch(sha256);
    return artifacts.filter(({ sha256 }) => !inUse.has(sha256));
  }

  async #inUse(): Promise<ReadonlySet<string>> {
    const { assigned, usedByWorkers } = this.#options;
    return new Set([...(await usedByWorkers()), ...assigned(), ...this.#downloading]);
  }

  async #remove(artifact: StoredArtifact): Promise<boolean> {
    const { sha256, sizeBytes } = artifact;
    if ((await this.#inUse()).has(sha256)) return false; // since it was chosen
    await this.#directory.remove(artifact);
    this.#options.log.info("artifact_removed", { sha256, sizeBytes });
    return true;
  }
}

function failureMessage(error: unknown): string {
  if (error instanceof DownloadError) return error.message;
  if (error instanceof ArchiveError) return `The app's archive is not unpacked: it ${error.message}.`;
  if (isNoSpace(error)) return "The app's files do not fit on this host's disk. Free space on it.";
  const reason = error instanceof Error ? error.message : String(error);
  return `The app's files could not be put on this host's disk: ${reason}.`;
}
