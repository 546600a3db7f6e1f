import { formatSize } from "../format.ts";
import { ArtifactDirectory } from "./artifact-directory.ts";

/** What a host keeps of apps, whether an agent runs or not. */
export type ArtifactUsage = {
  /** Builds whose files are here. */
  readonly count: number;
  /** Disk that they and half downloads take. */
  readonly bytes: number;
};

export async function readArtifactUsage(stateDirectory: string): Promise<ArtifactUsage> {
  const artifacts = await new ArtifactDirectory(stateDirectory).list();
  const bytes = artifacts.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return { count: artifacts.filter(({ isComplete }) => isComplete).length, bytes };
}

/** "files of 2 app builds, 40 MB" */
export function formatArtifactUsage({ count, bytes }: ArtifactUsage): string {
  return `files of ${count} app build${count === 1 ? "" : "s"}, ${formatSize(bytes)}`;
}
