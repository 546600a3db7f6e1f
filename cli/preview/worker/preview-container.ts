/** One container of a preview, from its making to its end. It is made as the agent of a host makes it. */
import type Dockerode from "dockerode";
import { ContainerOutput, textOfLog } from "../../../node-agent/runtime/docker/container-output.ts";
import { inspect, ignoring } from "../../../node-agent/runtime/daemon/docker-calls.ts";
import { isGoneOrConflict, isNotFound } from "../../../node-agent/runtime/daemon/docker-errors.ts";
import { exitReason } from "../../../node-agent/runtime/interface/exit-reason.ts";
import { lastLinesOf } from "../../../node-agent/runtime/interface/output.ts";

/** Makes and starts it. Throws what Docker says. */
export async function startContainer(
  docker: Dockerode,
  options: Dockerode.ContainerCreateOptions,
): Promise<PreviewContainer> {
  const container = await docker.createContainer(options);
  try {
    await container.start();
    return new PreviewContainer(container);
  } catch (error) {
    await container.remove({ force: true, v: true }).catch(() => undefined);
    throw error;
  }
}

export class PreviewContainer {
  readonly #container: Dockerode.Container;

  constructor(container: Dockerode.Container) {
    this.#container = container;
  }

  /** The port of this computer's loopback that leads to a port of the container. */
  async publishedPort(port: number): Promise<number> {
    const found = await inspect(this.#container);
    const [binding] = found?.NetworkSettings.Ports[`${port}/tcp`] ?? [];
    return Number(binding?.HostPort ?? 0);
  }

  /** Resolves when it has ended, and says how in one sentence. */
  async ended(): Promise<string> {
    await ignoring(isNotFound, this.#container.wait());
    const state = (await inspect(this.#container))?.State;
    if (state === undefined) return exitReason({ exitCode: null, isRemoved: true });
    return exitReason({ exitCode: state.ExitCode, isOutOfMemory: state.OOMKilled });
  }

  /** Hands on what it prints, line by line, until it has ended or the signal. */
  async follow(onLine: (line: string) => void, signal: AbortSignal): Promise<void> {
    const output = new ContainerOutput({
      position: null,
      admits: () => true,
      onPart: ({ lines }) => lines.forEach(({ text }) => onLine(text)),
      signal,
    });
    const options = {
      stdout: true,
      stderr: true,
      timestamps: true,
      follow: true,
      abortSignal: signal,
    } as const;
    try {
      for await (const chunk of await this.#container.logs(options)) output.take(chunk as Buffer);
    } catch (error) {
      if (!signal.aborted && !isGoneOrConflict(error)) throw error;
    }
  }

  /** Oldest first. */
  async lastLines(count: number): Promise<readonly string[]> {
    const log = this.#container.logs({ stdout: true, stderr: true, tail: count, follow: false });
    const bytes = await ignoring(isGoneOrConflict, log);
    return bytes === undefined ? [] : lastLinesOf(textOfLog(bytes), count);
  }

  /** SIGTERM, then SIGKILL after the grace in seconds. */
  async stop(graceSeconds: number): Promise<void> {
    await ignoring(isGoneOrConflict, this.#container.stop({ t: graceSeconds }));
  }

  async remove(): Promise<void> {
    await ignoring(isGoneOrConflict, this.#container.remove({ force: true, v: true }));
  }
}
