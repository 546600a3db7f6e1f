/**
 * `edgerun-agent uninstall`: this machine is no longer a host, and nothing of Edgerun stays on it.
 *
 * A step that fails is reported, and the remaining steps still run.
 */
import { errorMessage } from "../../src/std/errors.ts";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EdgeClient } from "../edge/edge-client.ts";
import { type HostCredential, loadCredential } from "../edge/host-credential.ts";
import {
  COMMAND_PATH,
  INSTALL_DIRECTORY,
  SETTINGS_DIRECTORY,
  UNIT_PATH,
  endService,
  forgetService,
  hasService,
} from "../host/service.ts";
import { removeAllWorkers, removeWorkerNetwork } from "../runtime/create-runtime.ts";
import type { RuntimeKind } from "../runtime/interface/runtime.ts";
import { queryAgent } from "../host/status-server.ts";

const EDGE_LIMIT_MS = 30_000;
const POLL_INTERVAL_MS = 500;
const STATE_FILES = ["host.json", "host.json.refused", "journal.db", "join-token"];
const RUNTIMES: readonly RuntimeKind[] = ["docker", "process"];

export type UninstallSettings = {
  readonly edgeUrl: string | undefined;
  readonly stateDir: string;
  /** How long running jobs may take; 0 skips the wait. */
  readonly drainLimitMs: number;
  readonly say: (line: string) => void;
};

/** Returns the exit code: 1 when something is left. */
export async function uninstall(settings: UninstallSettings): Promise<number> {
  const { stateDir, say } = settings;
  const credential = await loadCredential(stateDir).catch(() => undefined);
  const errors: string[] = [];
  const step = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      errors.push(`${what}: ${errorMessage(error)}`);
    }
  };
  if (credential && settings.drainLimitMs > 0) await step("drain", () => drain(settings, credential));
  if (hasService()) await step("service", endService);
  if (await queryAgent(stateDir).catch(() => true)) {
    throw new Error(
      "The agent still runs, and nothing on this host keeps it running: end it, then run this again.",
    );
  }
  if (credential) await step("edge", () => leave(settings, credential));
  if (credential) await step("workers", () => removeWorkers(settings, credential));
  await step("files", () => removeFiles(stateDir));
  for (const error of errors) say(`Not done: ${error}`);
  say(errors.length === 0 ? "Nothing of Edgerun is left on this machine." : "The rest is removed.");
  return errors.length === 0 ? 0 : 1;
}

// Draining

async function drain(settings: UninstallSettings, credential: HostCredential): Promise<void> {
  const { stateDir, drainLimitMs, say } = settings;
  if (!(await queryAgent(stateDir))) return say("No agent runs, so no job of this host can be finished.");
  const outcome = await clientOf(settings, credential).drain(limits());
  if (outcome.kind === "unauthorized") return; // removed already
  if (outcome.kind !== "answered") throw new Error(outcome.detail);
  const until = performance.now() + drainLimitMs;
  let lastLine = "";
  for (;;) {
    const status = await queryAgent(stateDir);
    if (!status || (status.workers.length === 0 && status.jobs === 0)) return;
    const line = `Waiting for ${status.jobs} jobs and ${status.workers.length} workers to end ...`;
    if (line !== lastLine) say(line);
    lastLine = line;
    if (performance.now() >= until) {
      return say(`They did not end within ${drainLimitMs / 1_000} s: their jobs run again elsewhere.`);
    }
    await delay(POLL_INTERVAL_MS);
  }
}

async function leave(settings: UninstallSettings, credential: HostCredential): Promise<void> {
  const outcome = await clientOf(settings, credential).leave(limits());
  if (outcome.kind === "answered" || outcome.kind === "unauthorized") return;
  throw new Error(`${outcome.detail}. Remove host ${credential.hostId} there yourself (hostRemove).`);
}

function clientOf({ edgeUrl }: UninstallSettings, credential: HostCredential): EdgeClient {
  return new EdgeClient(edgeUrl ?? credential.edgeUrl, credential.hostToken);
}

function limits() {
  return { timeoutMs: EDGE_LIMIT_MS, signal: new AbortController().signal };
}

// Removing

/** Removes the workers of both runtimes, since the host may have changed from one to the other. */
async function removeWorkers(
  { stateDir, say }: UninstallSettings,
  { hostId }: HostCredential,
): Promise<void> {
  for (const kind of RUNTIMES) {
    if (kind === "docker" && !existsSync("/var/run/docker.sock") && !process.env["DOCKER_HOST"]) continue;
    const count = await removeAllWorkers(kind, { hostId, stateDir });
    if (count > 0) say(`Removed ${count} workers.`);
    if (kind === "docker" && !(await removeWorkerNetwork())) {
      say("The network of the workers stays: another agent has containers on it.");
    }
  }
}

async function removeFiles(stateDir: string): Promise<void> {
  const isOurs = STATE_FILES.some((name) => existsSync(join(stateDir, name)));
  const state = isOurs ? [stateDir] : []; // a mistyped --state is no reason to empty a directory
  for (const path of [UNIT_PATH, COMMAND_PATH, SETTINGS_DIRECTORY, ...state, INSTALL_DIRECTORY]) {
    await rm(path, { recursive: true, force: true });
  }
  if (existsSync("/run/systemd/system")) await forgetService();
}
