import type { Artifact } from "../../src/contract/agent/artifact.ts";
import type { AgentLog } from "../log.ts";
import type { CacheOptions } from "./images/cached-images.ts";
import type { PrepareOutcome } from "./runtime.ts";
import type { ArtifactPlace } from "../artifacts/artifact-directory.ts";
import { ArtifactStore, type ArtifactStoreOptions } from "../artifacts/artifact-store.ts";

export type AppFilesOptions = Pick<
  ArtifactStoreOptions,
  "stateDirectory" | "disk" | "usedByWorkers" | "stallMs" | "progressMs"
> & { readonly log?: AgentLog | undefined };

const NO_LOG: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };

/** The files of apps of a runtime, which learns only later than its place where they come from. */
export class AppFiles {
  readonly #options: AppFilesOptions;
  #store: ArtifactStore | null = null;

  constructor(options: AppFilesOptions) {
    this.#options = options;
  }

  configureCache({ artifacts: source, assignedArtifacts: assigned }: CacheOptions): void {
    const { log = NO_LOG, ...options } = this.#options;
    this.#store = new ArtifactStore({ ...options, log, source, assigned });
  }

  prepare(
    artifact: Artifact,
    onProgress: (detail: string) => void,
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    return this.#requireStore().prepare(artifact, onProgress, signal);
  }

  /** Where the files are once they were prepared; null for a worker without any. */
  place(artifact: Artifact | undefined): ArtifactPlace | null {
    return artifact ? this.#requireStore().place(artifact.sha256) : null;
  }

  close(): void {
    this.#options.disk.close();
  }

  #requireStore(): ArtifactStore {
    if (!this.#store) throw new Error("The agent has not said where files of apps come from.");
    return this.#store;
  }
}
