import { stat, statfs } from "node:fs/promises";
import Dockerode from "dockerode";

/** Where Docker keeps images and containers on this host; null when it does not say. */
export async function dockerRoot(docker = new Dockerode()): Promise<string | null> {
  const info: unknown = await docker.info().catch(() => null);
  if (typeof info !== "object" || info === null || !("DockerRootDir" in info)) return null;
  return typeof info.DockerRootDir === "string" ? info.DockerRootDir : null;
}

/** Reads the free space where Docker keeps images, in bytes; null when it is not to be seen from here. */
export function freeBytesReader(docker: Dockerode): () => Promise<number | null> {
  let root: string | null = null;
  return async () => {
    root ??= await dockerRoot(docker);
    if (root === null) return null;
    return freeBytesOf(root);
  };
}

/** Free space of the disk that a directory is on, in bytes; null when it is not to be seen from here. */
export async function freeBytesOf(directory: string): Promise<number | null> {
  const space = await statfs(directory).catch(() => null);
  return space && space.bavail * space.bsize;
}

/** Whether two directories are on the same disk; false where that is not to be seen from here. */
export async function areOnOneDisk(one: string, other: string): Promise<boolean> {
  const devices = await Promise.all([one, other].map((path) => stat(path).catch(() => null)));
  return devices[0] !== null && devices[0]?.dev === devices[1]?.dev;
}
