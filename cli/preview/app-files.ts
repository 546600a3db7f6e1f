/** The files of the app on this computer, as containers get them: unpacked once, and the archive beside them. */
import { copyFile, link, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError, unpack } from "../../node-agent/artifacts/unpacking.ts";
import { freshDirectory } from "../build/build-directory.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";

/** In `.flash/`. */
const KIND = ".preview";

export type LaidFiles = {
  readonly appPath: string;
  readonly archivePath: string;
  remove(): Promise<void>;
};

export async function layOutFiles({ directory, signal }: Cli, archive: string): Promise<LaidFiles> {
  const folder = await freshDirectory(directory, KIND);
  const remove = async (): Promise<void> => await rm(folder, { recursive: true, force: true });
  const files = { appPath: join(folder, "app"), archivePath: join(folder, "artifact.tar.gz"), remove };
  try {
    await unpack(archive, files.appPath, signal);
    // The next build puts another one in its place while this preview runs.
    await link(archive, files.archivePath).catch(() => copyFile(archive, files.archivePath));
    return files;
  } catch (error) {
    await remove();
    if (error instanceof ArchiveError) throw new Failure(`The archive ${archive} ${error.message}.`);
    throw error;
  }
}
