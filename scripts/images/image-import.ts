/** What making images through the Docker API takes: a scratch folder, its tar stream, an answer read to the end. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type Docker from "dockerode";

/** Lends an empty folder and removes it afterwards. */
export async function withScratchFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "edgerun-image-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The folder as a tar stream; the same files give the same bytes. Fails where tar fails. */
export function tarOf(folder: string): NodeJS.ReadableStream {
  const stable = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  const tar = spawn("tar", ["--create", ...stable, "--directory", folder, "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const bytes = new PassThrough();
  tar.on("error", (error) => bytes.destroy(error));
  tar.on("close", (code) => {
    if (code === 0) bytes.end();
    else bytes.destroy(new Error(`tar ended with code ${code}`));
  });
  tar.stdout.pipe(bytes, { end: false });
  return bytes;
}

/** Labels of a local image; undefined when there is none. */
export async function labelsOf(docker: Docker, image: string): Promise<Record<string, string> | undefined> {
  try {
    return (await docker.getImage(image).inspect()).Config.Labels ?? {};
  } catch (error) {
    if (error instanceof Error && "statusCode" in error && error.statusCode === 404) return undefined;
    throw error;
  }
}

/** Reads the daemon's answer to the end; throws what it says went wrong. */
export function finishImage(docker: Docker, answer: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(answer, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}
