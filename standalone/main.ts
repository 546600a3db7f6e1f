/**
 * The program of the local edge: an edge and an agent that run until its input ends, so at the latest when the command
 * that started it does. scripts/bundle/standalone-bundle.ts lays it out as one file beside what it needs.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dockerAnswers } from "./docker-daemon.ts";
import { readEdgeBuild } from "./edge-build.ts";
import { Failure } from "../src/std/failure.ts";
import { Installation } from "./installation.ts";
import { endSessions, managementApi } from "./management-api.ts";
import { type StandaloneMessage, type StandaloneSettings, standaloneSettingsSchema } from "./messages.ts";
import { StateDirectory, StateInUse } from "./state-directory.ts";

const OWN_DIRECTORY = fileURLToPath(new URL(".", import.meta.url));
const EDGE = join(OWN_DIRECTORY, "edge");
/** The bundle that the edge serves to hosts. */
const AGENT = join(EDGE, "assets/agent/edgerun-agent.mjs");

function send(message: StandaloneMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function start(
  installation: Installation,
  state: StateDirectory,
  settings: StandaloneSettings,
): Promise<void> {
  if (settings.runtime === "docker" && !(await dockerAnswers())) {
    throw new Failure("No Docker daemon answers.", [
      "Start Docker (or set DOCKER_HOST), or leave out --runtime docker: workers then run as plain processes.",
    ]);
  }
  const apiKey = state.apiKey();
  await installation.claim("");
  const bindings = {
    ROOT_API_KEY: apiKey,
    ENCRYPTION_KEYS: state.encryptionKeys(),
    WEBHOOK_ALLOW_PRIVATE: "true", // the whole installation is on the user's own computer
  };
  const { packages, port = 0, runtime, python, pythonPackage, desktopNetwork } = settings;
  await installation.startEdge({ build: await readEdgeBuild(EDGE), packages, port, bindings });
  // No other command uses this state, so these sessions are left by killed ones, and their jobs would run old code.
  if (settings.port === undefined) await endSessions(managementApi(installation.url, apiKey));
  send({ kind: "ready", port: Number(new URL(installation.url).port), apiKey });
  const workerPython = { interpreter: python, packageDirectory: pythonPackage };
  await installation.startAgent({ program: AGENT, runtime, workerPython, desktopNetwork });
}

function failureOf(error: unknown): StandaloneMessage {
  if (error instanceof StateInUse) return { kind: "in-use", pid: error.pid, url: error.url };
  if (error instanceof Failure) {
    return { kind: "failed", whatHappened: error.message, howToSolve: [...error.advice] };
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "failed", whatHappened: "The local edge could not be started.", howToSolve: [detail] };
}

async function main(): Promise<number> {
  const settings = standaloneSettingsSchema.parse(JSON.parse(process.argv[2] ?? ""));
  const { promise: stopRequested, resolve: ask } = Promise.withResolvers<void>();
  process.stdin.on("end", ask).on("close", ask).on("error", ask).resume();
  process.stdout.on("error", () => {}); // the reader has gone, so the input ends too
  // The terminal sends them to all processes; the command that started this one decides when it ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const state = new StateDirectory(settings.stateDirectory);
  const guardProgram = join(OWN_DIRECTORY, "guard-main.mjs");
  const notify = (line: string): void => send({ kind: "notice", line });
  const installation = new Installation({ state, apiKey: state.apiKey(), notify, guardProgram });
  const isStopped = stopRequested.then(() => void installation.stop());
  try {
    await start(installation, state, settings);
    await isStopped;
    return 0;
  } catch (error) {
    if (!installation.stopped.aborted) send(failureOf(error));
    return 1;
  } finally {
    await installation.stop();
  }
}

process.exit(await main());
