/** Downloads the packed files of an app from the edge; resumes where an earlier attempt has ended. */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import type { ArtifactBytes, EdgeClient, EdgeOutcome } from "../edge/edge-client.ts";
import { formatProgress } from "../core/format.ts";
import { transfer } from "../disk/resumed-transfer.ts";

/** The call of the edge that downloads artifacts. */
export type ArtifactSource = Pick<EdgeClient, "artifact">;

/** What a runtime learns only after it was created. */
export type ArtifactSourceOptions = {
  readonly artifacts: ArtifactSource;
  /** SHA-256s of the files of apps of the assigned workers. */
  readonly assignedArtifacts: () => ReadonlySet<string>;
};

export type DownloadOptions = {
  readonly source: ArtifactSource;
  /** Time without a byte after which the edge is called again. */
  readonly stallMs: number;
  readonly onProgress: (detail: string) => void;
  readonly signal: AbortSignal;
};

/** The download failed; the message is a whole sentence for users. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
}

/** Afterwards, the path has the artifact's bytes. Throws a DownloadError, or the error of the disk. */
export async function download(artifact: Artifact, path: string, options: DownloadOptions): Promise<void> {
  const { sha256, sizeBytes } = artifact;
  const { source, stallMs, onProgress, signal } = options;
  const found = await transfer({
    path,
    sizeBytes,
    createHash: () => createHash("sha256"),
    call: async (from, ending) => {
      const outcome = await source.artifact(sha256, from, { timeoutMs: stallMs, signal: ending });
      return outcome.kind === "answered" ? outcome.reply : new DownloadError(callError(outcome));
    },
    stallMs,
    onBytes: (bytes) => onProgress(`downloading the app's files ${formatProgress(bytes, sizeBytes)}`),
    onBroken: (error, hasBroughtBytes) => {
      if (!hasBroughtBytes) throw error; // else it is worth another call
    },
    brokenOff: () => new DownloadError(unreachable("the connection broke off")),
    excess: () =>
      new DownloadError(
        `The edge sends more than the ${sizeBytes} bytes that it announced of the app's files.`,
      ),
    signal,
  });
  if (found === sha256) return;
  await rm(path, { force: true });
  throw new DownloadError(
    `The app's files came damaged and were thrown away: their SHA-256 is ${found}, and ${sha256} was announced.`,
  );
}

function callError(outcome: Exclude<EdgeOutcome<ArtifactBytes>, { readonly kind: "answered" }>): string {
  if (outcome.kind === "refused") return `The edge does not serve the app's files: ${outcome.detail}`;
  return unreachable(outcome.detail);
}

function unreachable(detail: string): string {
  return `The app's files could not be downloaded from the edge: ${detail}.`;
}
