/** `edgerun cp`: copies files and directories to and from pods and workers. */
import { realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import prettyBytes from "pretty-bytes";
import { Failure } from "../../../src/std/failure.ts";
import { openService } from "../../configuration/settings.ts";
import type { Cli } from "../../core/cli.ts";
import { inStep, type Step } from "../../core/terminal.ts";
import { isTransient } from "../client-tunnel.ts";
import { ContainerShell } from "./container-shell.ts";
import { downloadDirectory, uploadDirectory } from "./directory-copy.ts";
import { downloadFile, type FilePaths, lookAt, uploadFile } from "./file-copy.ts";
import { type CopyPlaces, copyPlaces } from "./place.ts";

/** So long a copy is tried again after the container was last heard of. */
const PATIENCE_MS = 120_000;
const RETRY_MS = 1_000;

/** Throws a Failure when the copy is not complete; what is there of a file is used by the next copy of it. */
export async function copy(cli: Cli, source: string, destination: string): Promise<void> {
  const places = copyPlaces(source, destination);
  const service = await openService(cli);
  const title = `Copying ${source} to ${destination}`;
  await inStep(cli.terminal, { title, failed: "Not everything was copied." }, async (step) => {
    const rate = new Rate(step);
    const shell = new ContainerShell(service, places.containerId, {
      signal: cli.signal,
      onConnection: (isThere) => rate.connection(isThere),
    });
    const leftOut = await persistently(shell, cli.signal, () => copyOnce(shell, places, rate));
    step.done(`Copied ${source} to ${destination} (${rate.summary})`);
    if (leftOut.length > 0)
      cli.terminal.warn(`Left out, as they lead out of the directory or are no files: ${named(leftOut)}.`);
  });
}

const NAMED_MAX = 5;

function named(paths: readonly string[]): string {
  const rest = paths.length - NAMED_MAX;
  const shown = paths.slice(0, NAMED_MAX).map((path) => JSON.stringify(path));
  return `${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** A tunnel that is lost for good, as when the agent starts again, is followed by another one. */
async function persistently<Result>(
  shell: ContainerShell,
  signal: AbortSignal,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const isOver = performance.now() - shell.lastHeardAt > PATIENCE_MS;
      if (signal.aborted || isOver || !isTransient(error)) throw error;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** Returns the names of what was left out. */
async function copyOnce(shell: ContainerShell, places: CopyPlaces, rate: Rate): Promise<readonly string[]> {
  return await (places.direction === "up" ? upload : download)(shell, places, rate);
}

async function upload(shell: ContainerShell, { local, remote }: FilePaths, rate: Rate): Promise<readonly []> {
  const source = await stat(local).catch(() => {
    throw new Failure(`${local} does not exist.`);
  });
  const [found] = await lookAt(shell, [remote]);
  if (found?.kind === "other")
    throw new Failure(`${remote} is neither a file nor a directory in the container.`);
  if (found?.kind !== "directory" && remote.endsWith("/") && !source.isDirectory())
    throw new Failure(`${remote} is no directory in the container.`);
  const target = found?.kind === "directory" ? `${remote}/${basename(local)}` : remote;
  if (source.isDirectory()) await uploadDirectory(shell, { local, remote: target }, rate.show);
  else await uploadFile(shell, { local, remote: target }, rate.show);
  return [];
}

async function download(
  shell: ContainerShell,
  { local, remote }: FilePaths,
  rate: Rate,
): Promise<readonly string[]> {
  const [found] = await lookAt(shell, [remote]);
  if (found === undefined || found.kind === "none")
    throw new Failure(`${remote} does not exist in the container.`);
  const existing = await stat(local).catch(() => null);
  const isDirectory = existing?.isDirectory() === true;
  if (existing && !isDirectory && !existing.isFile())
    throw new Failure(`${local} is neither a file nor a directory.`, [
      `To write into it: edgerun exec ${shell.containerId} -- cat '${remote}' > ${local}`,
    ]);
  if (!isDirectory && local.endsWith("/") && found.kind !== "directory")
    throw new Failure(`${local} is no directory.`);
  const name = basename(remote);
  if (isDirectory && (name === ".." || name === ""))
    throw new Failure(`${remote} has no name to be copied under.`, [`Name one: ${join(local, "copy")}`]);
  const file = existing?.isFile() ? await realpath(local) : local; // a link stays one
  const target = isDirectory ? join(local, name) : file;
  if (found.kind === "directory") return await downloadDirectory(shell, { local: target, remote }, rate.show);
  await downloadFile(shell, { local: target, remote }, rate.show);
  return [];
}

/** Shows how much was copied, and how fast. */
class Rate {
  readonly #step: Step;
  readonly #startedAt = performance.now();
  #bytes = 0;

  constructor(step: Step) {
    this.#step = step;
  }

  readonly show = (bytes: number, totalBytes?: number): void => {
    this.#bytes = bytes;
    const total = totalBytes === undefined ? "" : ` of ${prettyBytes(totalBytes)}`;
    this.#step.update(`${prettyBytes(bytes)}${total}, ${this.#rate}`);
  };

  connection(isThere: boolean): void {
    if (!isThere) this.#step.update("connection lost, resuming");
  }

  get summary(): string {
    return `${prettyBytes(this.#bytes)}, ${this.#rate}`;
  }

  get #rate(): string {
    return `${prettyBytes((this.#bytes / (performance.now() - this.#startedAt)) * 1_000)}/s`;
  }
}
