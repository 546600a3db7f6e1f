import { sizeWords } from "../amount.ts";
import { ArtifactShelf } from "./artifact-shelf.ts";

/** What a host keeps of apps, whether an agent runs or not. */
export type KeptArtifacts = {
  /** Builds whose files are here. */
  readonly count: number;
  /** Disk that they and half downloads take. */
  readonly bytes: number;
};

export async function readKeptArtifacts(stateDirectory: string): Promise<KeptArtifacts> {
  const kept = await new ArtifactShelf(stateDirectory).all();
  const bytes = kept.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return { count: kept.filter(({ isWhole }) => isWhole).length, bytes };
}

/** "files of 2 app builds, 40 MB" */
export function keptWords({ count, bytes }: KeptArtifacts): string {
  return `files of ${count} app build${count === 1 ? "" : "s"}, ${sizeWords(bytes)}`;
}
