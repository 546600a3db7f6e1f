/**
 * The files of apps that this host has for its workers.
 *
 * A1  They come once per digest, however many workers want them, and survive the agent; half a download does, too.
 * A2  Only bytes of the announced SHA-256 are unpacked, into a folder that gets its name when it is whole.
 * A3  What an assigned worker may ask for, a worker has, or is being brought, is never removed. Of the rest the
 *     longest unused goes first when the disk gets full.
 */
import type { Artifact } from "../../src/contract/artifact.ts";
import { ARTIFACT_ROOM_FACTOR, ARTIFACT_STALL_MS } from "../../src/contract/flash-limits.ts";
import { PULL_PROGRESS_MS } from "../../src/contract/limits.ts";
import type { AgentLog } from "../log.ts";
import { isNoSpace } from "../runtime/docker-errors.ts";
import type { DiskRoom, Keeper, Removable } from "../runtime/disk-room.ts";
import type { PrepareOutcome } from "../runtime/runtime.ts";
import { type SharedOptions, SharedWork } from "../runtime/shared-work.ts";
import { Turns } from "../runtime/turns.ts";
import { type ArtifactSource, download, DownloadFailure } from "./artifact-download.ts";
import { type ArtifactPlace, ArtifactShelf, type KeptArtifact } from "./artifact-shelf.ts";
import { ArchiveFault } from "./unpacking.ts";

export type ArtifactStoreOptions = {
  readonly stateDirectory: string;
  readonly source: ArtifactSource;
  readonly room: DiskRoom;
  readonly log: Pick<AgentLog, "info" | "warn">;
  /** SHA-256s that workers of this host shall have. */
  readonly assigned: () => ReadonlySet<string>;
  /** SHA-256s that its workers have, running or not. */
  readonly held: () => Promise<ReadonlySet<string>>;
  readonly stallMs?: number | undefined;
  readonly progressMs?: number | undefined;
};

const NEVER = new AbortController().signal;

export class ArtifactStore implements Keeper {
  readonly #options: ArtifactStoreOptions;
  readonly #shelf: ArtifactShelf;
  readonly #work: SharedWork<Artifact>;
  /** Work that was called off may still be ending when the next begins. */
  readonly #turns = new Turns();
  readonly #coming = new Set<string>();
  #opened: Promise<void> | null = null;

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    this.#shelf = new ArtifactShelf(options.stateDirectory);
    this.#work = new SharedWork({
      keyOf: ({ sha256 }) => sha256,
      work: (artifact, shared) => this.#turns.take(artifact.sha256, () => this.#bring(artifact, shared)),
      intervalMs: options.progressMs ?? PULL_PROGRESS_MS,
    });
    options.room.add(this);
  }

  /** Where the files are once they were prepared. */
  place(sha256: string): ArtifactPlace {
    return this.#shelf.place(sha256);
  }

  /** Gets the files onto this host unless they are there already; ends early when called off. */
  async prepare(
    artifact: Artifact,
    onProgress: (detail: string) => void,
    signal: AbortSignal = NEVER,
  ): Promise<PrepareOutcome> {
    try {
      if (!(await this.#shelf.use(artifact.sha256))) await this.#work.share(artifact, onProgress, signal);
      return { kind: "prepared" };
    } catch (error) {
      return { kind: "failed", detail: wordsFor(error) };
    }
  }

  async removable(): Promise<readonly Removable[]> {
    return (await this.#unused()).map((kept) => {
      const { sizeBytes, lastUsedAt } = kept;
      return { sizeBytes, lastUsedAt, remove: () => this.#remove(kept) };
    });
  }

  async freeableBytes(): Promise<number> {
    return (await this.#unused()).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  }

  // Bringing

  async #bring(artifact: Artifact, shared: SharedOptions): Promise<void> {
    const { sha256, sizeBytes } = artifact;
    const { room, log } = this.#options;
    this.#coming.add(sha256);
    try {
      await (this.#opened ??= this.#shelf.open());
      if (await this.#shelf.use(sha256)) return;
      const beganAt = performance.now();
      await room.make(sizeBytes * ARTIFACT_ROOM_FACTOR);
      await this.#fetchAndUnpack(artifact, shared);
      log.info("artifact_kept", { sha256, sizeBytes, durationMs: Math.round(performance.now() - beganAt) });
    } finally {
      this.#coming.delete(sha256);
    }
  }

  async #fetchAndUnpack(artifact: Artifact, { signal, onProgress }: SharedOptions): Promise<void> {
    const { source, room, stallMs = ARTIFACT_STALL_MS } = this.#options;
    for (;;) {
      try {
        const path = this.#shelf.incomingPath(artifact.sha256);
        await download(artifact, path, { source, stallMs, onProgress, signal });
        onProgress("unpacking the app's files");
        return await this.#shelf.keep(artifact.sha256, signal);
      } catch (error) {
        if (!isNoSpace(error) || !(await room.freeOne())) throw error;
      }
    }
  }

  // Parting

  async #unused(): Promise<KeptArtifact[]> {
    const inUse = await this.#inUse();
    const kept = await this.#shelf.all();
    for (const { sha256, isWhole } of kept) if (isWhole && inUse.has(sha256)) await this.#shelf.use(sha256);
    return kept.filter(({ sha256 }) => !inUse.has(sha256));
  }

  async #inUse(): Promise<ReadonlySet<string>> {
    const { assigned, held } = this.#options;
    return new Set([...(await held()), ...assigned(), ...this.#coming]);
  }

  async #remove(kept: KeptArtifact): Promise<boolean> {
    const { sha256, sizeBytes } = kept;
    if ((await this.#inUse()).has(sha256)) return false; // since it was chosen
    await this.#shelf.remove(kept);
    this.#options.log.info("artifact_removed", { sha256, sizeBytes });
    return true;
  }
}

function wordsFor(error: unknown): string {
  if (error instanceof DownloadFailure) return error.message;
  if (error instanceof ArchiveFault) return `The app's archive is not unpacked: it ${error.message}.`;
  if (isNoSpace(error)) return "The app's files do not fit on this host's disk. Free space on it.";
  const reason = error instanceof Error ? error.message : String(error);
  return `The app's files could not be put on this host's disk: ${reason}.`;
}
