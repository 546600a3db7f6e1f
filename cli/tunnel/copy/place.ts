/** Where `edgerun cp` copies from and to. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { EXIT_USAGE, Failure } from "../../../src/std/failure.ts";

/** A path on this computer, or in a pod or worker. */
export type Place = { readonly containerId?: string; readonly path: string };

export type CopyPlaces = {
  readonly direction: "up" | "down";
  readonly containerId: string;
  readonly local: string;
  readonly remote: string;
};

/** Reads source and destination; throws a Failure unless exactly one of them is in a container. */
export function copyPlaces(source: string, destination: string): CopyPlaces {
  const [from, to] = [placeOf(source), placeOf(destination)];
  if (from.containerId === undefined && to.containerId !== undefined)
    return { direction: "up", containerId: to.containerId, local: from.path, remote: to.path };
  if (from.containerId !== undefined && to.containerId === undefined)
    return { direction: "down", containerId: from.containerId, local: to.path, remote: from.path };
  throw new Failure(
    "Exactly one of source and destination is in a container.",
    ["Such as: edgerun cp model.bin <pod>:/workspace/", "A local name with a colon: ./a:b"],
    EXIT_USAGE,
  );
}

/** `<id>:<path>` is in a container; a relative path starts in its working directory. */
function placeOf(text: string): Place {
  const id = /^([a-z0-9-]{2,64}):/i.exec(text)?.[1];
  if (id === undefined) return { path: text };
  return { containerId: id, path: explicitPath(text.slice(id.length + 1)) };
}

/** The same path in a form that no program takes for an option. */
function explicitPath(path: string): string {
  if (path === "") return ".";
  return path.startsWith("/") ? path : `./${path}`;
}

/** Where a source goes in a directory; one without a name of its own, such as `..`, gives its contents. */
export function pathWithin(directory: string, source: string): string {
  const name = basename(source);
  const prefix = directory.endsWith("/") ? directory : `${directory}/`;
  return name === ".." ? `${prefix}.` : `${prefix}${name || "."}`;
}

/** What a file is at the moment; `mtime` in seconds since 1970. */
export type FileState = { readonly size: number; readonly mtime: number; readonly mode: number };

/** Name of the file that a copy grows in, beside its target: the same for the same source only. */
export function partName(source: string, { size, mtime }: FileState): string {
  const hash = createHash("sha256").update(`${source}\n${size}\n${mtime}`).digest("hex");
  return `.edgerun-${hash.slice(0, 16)}.part`;
}

/** Parts are continued at a multiple of it. */
export const BLOCK_BYTES = 64 * 1024;

/** Where to go on, in bytes, with a part of `partBytes`; 0 if there is none, or it is of something else. */
export function resumeOffset(partBytes: number | undefined, sizeBytes: number): number {
  if (partBytes === undefined || partBytes > sizeBytes) return 0;
  return Math.floor(partBytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/**
 * Whether a symbolic link within a directory may lead out of it. `..` is followed at the begin of its target alone, where
 * the directories above it are real ones; after a name it could follow another link, and lead anywhere.
 */
export function leadsOut(path: string, target: string): boolean {
  if (target.startsWith("/")) return true;
  const isName = (name: string): boolean => name !== "." && name !== "";
  const steps = target.split("/").filter(isName);
  const ups = steps.findIndex((name) => name !== "..");
  const upCount = ups < 0 ? steps.length : ups;
  if (steps.slice(upCount).includes("..")) return true;
  return upCount > path.split("/").filter(isName).length - 1;
}
