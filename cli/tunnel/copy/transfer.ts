/** What is copied where: as `cp -r` does, an existing directory gets the source inside. */
import { realpath, stat } from "node:fs/promises";
import { Failure } from "../../../src/std/failure.ts";
import { downloadDirectory, uploadDirectory } from "./directory-copy.ts";
import { downloadFile, type FilePaths, lookAt, type OnProgress, uploadFile } from "./file-copy.ts";
import { type CopyPlaces, pathWithin } from "./place.ts";
import type { Shell } from "./container-shell.ts";

type Kind = "directory" | "file" | "other" | "none";

/** Copies once; returns the names of what was left out. Throws a Failure when the copy is not complete. */
export async function transfer(
  shell: Shell,
  places: CopyPlaces,
  onProgress: OnProgress,
): Promise<readonly string[]> {
  return await (places.direction === "up" ? upload : download)(shell, places, onProgress);
}

async function upload(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<readonly string[]> {
  const source = await kindOf(local);
  if (source === "none") throw new Failure(`${local} does not exist.`);
  const inside = pathWithin(remote, local);
  const [named, within] = await lookAt(shell, [remote, inside]);
  const isInside = named?.kind === "directory";
  const target = isInside ? inside : remote;
  requireFits(source, { path: target, kind: (isInside ? within : named)?.kind ?? "none" });
  if (source === "directory") return await uploadDirectory(shell, { local, remote: target }, onProgress);
  await uploadFile(shell, { local, remote: target }, onProgress);
  return [];
}

async function download(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<readonly string[]> {
  const [source] = await lookAt(shell, [remote]);
  if (source === undefined || source.kind === "none")
    throw new Failure(`${remote} does not exist in the container.`);
  const existing = await kindOf(local);
  if (existing === "other")
    throw new Failure(`${local} is neither a file nor a directory.`, [
      `To write into it: edgerun exec ${shell.containerId} -- cat '${remote}' > ${local}`,
    ]);
  const target = existing === "directory" ? pathWithin(local, remote) : local;
  const kind = await kindOf(target);
  requireFits(source.kind, { path: target, kind });
  if (source.kind === "directory")
    return await downloadDirectory(shell, { local: target, remote }, onProgress);
  const file = kind === "file" ? await realpath(target) : target; // a link stays one
  await downloadFile(shell, { local: file, remote }, onProgress);
  return [];
}

async function kindOf(path: string): Promise<Kind> {
  const found = await stat(path).catch(() => null);
  if (!found) return "none";
  if (found.isDirectory()) return "directory";
  return found.isFile() ? "file" : "other";
}

/** Throws a Failure where a source of this kind cannot take the place of what is there. */
function requireFits(source: Kind, { path, kind }: { readonly path: string; readonly kind: Kind }): void {
  if (kind === "other") throw new Failure(`${path} is neither a file nor a directory.`);
  if (source === "directory") {
    if (kind === "file") throw new Failure(`${path} is a file, which no directory can replace.`);
    return;
  }
  if (kind === "directory") throw new Failure(`${path} is a directory, which no file can replace.`);
  if (kind === "none" && path.endsWith("/")) throw new Failure(`${path} is no directory.`);
}
