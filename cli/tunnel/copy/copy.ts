/** `edgerun cp`: copies files and directories to and from pods and workers. */
import { setTimeout as delay } from "node:timers/promises";
import prettyBytes from "pretty-bytes";
import { openService } from "../../configuration/settings.ts";
import type { Cli } from "../../core/cli.ts";
import { inStep, type Step } from "../../core/terminal.ts";
import { isTransient } from "../client-tunnel.ts";
import { ContainerShell } from "./container-shell.ts";
import type { Progress } from "./file-copy.ts";
import { copyPlaces } from "./place.ts";
import { transfer } from "./transfer.ts";

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
    const leftOut = await persistently(shell, cli.signal, () => transfer(shell, places, rate.show));
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

/** Shows how much is there, and how fast it was sent. */
class Rate {
  readonly #step: Step;
  readonly #startedAt = performance.now();
  #sentBytes = 0;
  #thereBytes = 0;

  constructor(step: Step) {
    this.#step = step;
  }

  readonly show = ({ sentBytes, thereBytes, totalBytes }: Progress): void => {
    this.#sentBytes += sentBytes;
    this.#thereBytes = thereBytes;
    const total = totalBytes === undefined ? "" : ` of ${prettyBytes(totalBytes)}`;
    this.#step.update(`${prettyBytes(thereBytes)}${total}, ${this.#rate}`);
  };

  connection(isThere: boolean): void {
    if (!isThere) this.#step.update("connection lost, resuming");
  }

  get summary(): string {
    const sent = this.#sentBytes < this.#thereBytes ? `, ${prettyBytes(this.#sentBytes)} of it sent now` : "";
    return `${prettyBytes(this.#thereBytes)}${sent}, ${this.#rate}`;
  }

  get #rate(): string {
    return `${prettyBytes((this.#sentBytes / (performance.now() - this.#startedAt)) * 1_000)}/s`;
  }
}
