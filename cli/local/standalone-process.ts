/** The process in which the local edge is kept running. It ends when its input does, so with this command at the latest. */
import { parseJson } from "../../src/std/json.ts";
import { within } from "../../src/std/waiting.ts";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import {
  type StandaloneMessage,
  standaloneMessageSchema,
  type StandaloneSettings,
} from "../../standalone/messages.ts";
import type { SupervisedProcess } from "../../standalone/supervised-process.ts";
import { compiledDirectory } from "../core/cache-directory.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";

/** It has little to do once all runs: requests go past it. They save 90 MB. */
const NODE_OPTIONS = ["--optimize-for-size", "--max-semi-space-size=2"];
/** Longer than the agent has for its workers. */
const END_LIMIT_MS = 30_000;

/** One run of it. */
export type StandaloneHandle = SupervisedProcess & { readonly port: number; readonly apiKey: string };

export type StandaloneStart = {
  readonly cli: Cli;
  /** The command that starts it, for messages. */
  readonly command: string;
  /** The Node that runs it. */
  readonly node: string;
  readonly settings: StandaloneSettings;
};

/** Resolves once the edge answers; throws a Failure where it does not start. */
export async function startStandalone(start: StandaloneStart): Promise<StandaloneHandle> {
  const { cli, node, settings } = start;
  cli.signal.throwIfAborted();
  const child = spawn(cli, node, settings);
  const ended = child.then(({ signal, exitCode }) => signal ?? `exit code ${exitCode ?? "unknown"}`);
  const stop = async (): Promise<void> => {
    child.stdin.end();
    if ((await within(END_LIMIT_MS, ended, null)) === null) child.kill("SIGKILL");
    await ended;
  };
  const onAbort = (): void => void stop();
  cli.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { port, apiKey } = await readUntilReady(start, child);
    // The process may become ready just as the command ends it.
    cli.signal.throwIfAborted();
    return { pid: child.pid ?? 0, ended, stop, port, apiKey };
  } catch (error) {
    await stop();
    cli.signal.throwIfAborted();
    throw error;
  } finally {
    cli.signal.removeEventListener("abort", onAbort);
  }
}

function spawn(cli: Cli, node: string, settings: StandaloneSettings) {
  const program = join(standaloneDirectory(), "standalone.mjs");
  const compiled = compiledDirectory(cli.environment);
  mkdirSync(compiled, { recursive: true });
  const child = execa(node, [...NODE_OPTIONS, program, JSON.stringify(settings)], {
    cwd: settings.stateDirectory,
    // The next start reuses what Node has compiled.
    env: { ...cli.environment, NODE_COMPILE_CACHE: compiled },
    extendEnv: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: { file: logOf(settings), append: true },
    // The terminal's Ctrl+C is for this command, which ends it in good order.
    detached: true,
    buffer: false,
    reject: false,
  });
  child.stdin.on("error", () => {}); // the process has ended; `ended` reports it
  return child;
}

function logOf({ stateDirectory }: StandaloneSettings): string {
  return join(stateDirectory, "standalone.log");
}

type Child = ReturnType<typeof spawn>;
type Ready = Extract<StandaloneMessage, { kind: "ready" }>;

/** Later messages are shown as well: the output is read until it ends. */
async function readUntilReady(start: StandaloneStart, child: Child): Promise<Ready> {
  return await new Promise((resolve, reject) => {
    const read = async (): Promise<void> => {
      for await (const line of child.iterable()) {
        const message = standaloneMessageSchema.safeParse(parseJson(line)).data;
        if (message?.kind === "ready") resolve(message);
        else if (message?.kind === "notice") start.cli.terminal.warn(message.line);
        else if (message) reject(failureOf(message, start));
      }
      const advice = [`Its log is ${logOf(start.settings)}.`];
      reject(new Failure("The local edge ended before it was ready.", advice));
    };
    read().catch(reject);
  });
}

function failureOf(
  message: Exclude<StandaloneMessage, { kind: "ready" | "notice" }>,
  { command, settings: { stateDirectory } }: StandaloneStart,
): Failure {
  if (message.kind === "failed") return new Failure(message.whatHappened, message.howToSolve);
  const { pid, url } = message;
  return new Failure(
    `A local edge already runs in this project (process ${pid}${url === "" ? "" : `, ${url}`}).`,
    [
      `End the other \`${command}\` first, with Ctrl+C in its terminal. A project has one at a time:`,
      `its data is in ${stateDirectory}.`,
    ],
  );
}
/** Beside the bundled command, or as the repository lays it out. */
const PLACES = ["./standalone/", "../../dist/cli/standalone/"];

/** What scripts/bundle/standalone-bundle.ts has laid out. */
export function standaloneDirectory(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`the local edge is in none of ${places.join(", ")}`);
  return found;
}
