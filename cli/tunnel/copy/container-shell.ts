/** Shell scripts that run in a container; what they are given are arguments, never text of the script. */
import type { Writable } from "node:stream";
import { Failure } from "../../../src/std/failure.ts";
import type { Service } from "../../service/service.ts";
import { withoutShell } from "../no-shell.ts";
import { RemoteCommand } from "../remote-command.ts";

type Streams = {
  readonly input?: AsyncIterable<Uint8Array>;
  /** Takes what the script prints, in place of the result. */
  readonly output?: Writable;
};

export type Printed = { readonly stdout: string; readonly stderr: string };

/** What copies need of it. */
export type Shell = Pick<ContainerShell, "containerId" | "run">;

const PRINTED_MAX_BYTES = 16 * 1024 * 1024;

export class ContainerShell {
  readonly containerId: string;
  readonly #service: Pick<Service, "url" | "apiKey">;
  readonly #signal: AbortSignal;
  readonly #onConnection: (isThere: boolean) => void;
  /** When something was last heard of the container, as `performance.now()` says it. */
  lastHeardAt = -Infinity;

  constructor(
    service: Pick<Service, "url" | "apiKey">,
    containerId: string,
    {
      signal,
      onConnection,
    }: { readonly signal: AbortSignal; readonly onConnection: (isThere: boolean) => void },
  ) {
    this.containerId = containerId;
    this.#service = service;
    this.#signal = signal;
    this.#onConnection = onConnection;
  }

  /**
   * Runs `sh -c <script>`; throws a ScriptFailure with its errors unless it ends with 0, and what `input` throws.
   */
  async run(script: string, args: readonly string[], { input, output }: Streams = {}): Promise<Printed> {
    this.#signal.throwIfAborted();
    const printed = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
    let printedBytes = 0;
    const remote = await RemoteCommand.start({
      service: this.#service,
      containerId: this.containerId,
      command: ["sh", "-c", script, "sh", ...args],
      onConnection: this.#onConnection,
      onOutput: (name, bytes, taken) => {
        this.lastHeardAt = performance.now();
        if (name === "stdout" && output) return void output.write(bytes, taken);
        taken();
        printed[name].push(bytes);
        printedBytes += bytes.byteLength;
        if (printedBytes > PRINTED_MAX_BYTES) remote.close();
      },
    });
    this.lastHeardAt = performance.now();
    const stop = (): void => remote.close();
    this.#signal.addEventListener("abort", stop);
    output?.once("error", stop);
    try {
      const [code] = await Promise.all([remote.exit, Promise.race([this.#send(remote, input), remote.exit])]);
      const stderr = Buffer.concat(printed.stderr).toString();
      if (code !== 0) throw new ScriptFailure(stderr, code);
      return { stdout: Buffer.concat(printed.stdout).toString(), stderr };
    } catch (error) {
      throw withoutShell(error, this.containerId);
    } finally {
      this.#signal.removeEventListener("abort", stop);
      remote.close();
      this.#signal.throwIfAborted();
    }
  }

  async #send(remote: RemoteCommand, input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
    for await (const bytes of input ?? []) {
      await remote.write(bytes);
      this.lastHeardAt = performance.now();
    }
    remote.end();
  }
}

/** A script in the container has failed. */
export class ScriptFailure extends Failure {
  constructor(stderr: string, code: number | null) {
    super(`In the container: ${stderr.trim().slice(0, 1_000) || `exit code ${code ?? "unknown"}`}`);
  }
}
