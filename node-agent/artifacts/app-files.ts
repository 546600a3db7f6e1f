import type { Artifact } from "../../src/contract/artifact.ts";
import type { AgentLog } from "../log.ts";
import type { CacheTerms } from "../runtime/cache-shelf.ts";
import type { PrepareOutcome } from "../runtime/runtime.ts";
import type { ArtifactPlace } from "./artifact-shelf.ts";
import { ArtifactStore, type ArtifactStoreOptions } from "./artifact-store.ts";

export type AppFilesOptions = Pick<
  ArtifactStoreOptions,
  "stateDirectory" | "room" | "held" | "stallMs" | "progressMs"
> & { readonly log?: AgentLog | undefined };

const NO_LOG: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };

/** The files of apps of a runtime, which learns only later than its place where they come from. */
export class AppFiles {
  readonly #options: AppFilesOptions;
  #store: ArtifactStore | null = null;

  constructor(options: AppFilesOptions) {
    this.#options = options;
  }

  keepOn({ artifacts: source, assignedArtifacts: assigned }: CacheTerms): void {
    const { log = NO_LOG, ...options } = this.#options;
    this.#store = new ArtifactStore({ ...options, log, source, assigned });
  }

  prepare(
    artifact: Artifact,
    onProgress: (detail: string) => void,
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    return this.#known().prepare(artifact, onProgress, signal);
  }

  /** Where the files are once they were prepared; null for a worker without any. */
  place(artifact: Artifact | undefined): ArtifactPlace | null {
    return artifact ? this.#known().place(artifact.sha256) : null;
  }

  close(): void {
    this.#options.room.close();
  }

  #known(): ArtifactStore {
    if (!this.#store) throw new Error("The agent has not said where files of apps come from.");
    return this.#store;
  }
}
