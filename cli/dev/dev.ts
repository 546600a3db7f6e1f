/** What `flash dev` does, from its start to Ctrl+C. */
import { errorMessage } from "../../src/std/errors.ts";
import { once } from "node:events";
import type { Cli } from "../core/cli.ts";
import { openService, serviceAt } from "../configuration/settings.ts";
import { type LocalEdge, openLocalEdge } from "../local/local-edge.ts";
import { startLocalServer } from "../server/local-server.ts";
import { showStartupTable } from "../server/startup-table.ts";
import { openCallLog } from "../server/terminal-call-log.ts";
import type { Service } from "../service/service.ts";
import { counted } from "../core/format.ts";
import type { LiveApp, AppChange } from "./app/live-app.ts";
import { openLiveApp } from "./app/watched-app.ts";
import { LiveCalls } from "./call/live-calls.ts";
import { findLeftovers, offerRemoval } from "./session/leftovers.ts";
import type { LiveSession } from "./session/live-session.ts";
import { openLiveSession } from "./session/open-session.ts";
import { confirmProvisioning, provision } from "./session/provisioning.ts";
import type { Terminal } from "../core/terminal.ts";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { FLASH_DIRECTORY } from "../project/project.ts";

export type DevOptions = {
  readonly appName: string;
  readonly host: string;
  /** The first one that is tried. */
  readonly port: number;
  /** Reloads the app when files change. */
  readonly reloads: boolean;
  /** Creates all live endpoints at the start. */
  readonly provisionsAll: boolean;
  readonly python?: string | undefined;
  /** Runs workers on this computer, ignoring the configured service. */
  readonly local?: { readonly runtime: "docker" | "process" };
};

/** What to close at the end, in reverse order. */
type Opened = (() => Promise<void>)[];

/** Serves until it is interrupted, then removes everything that it created, here and on the service. */
export async function dev(cli: Cli, options: DevOptions): Promise<void> {
  const opened: Opened = [];
  try {
    await serve(cli, options, opened);
  } catch (error) {
    // An interruption is the regular end.
    if (error !== cli.signal.reason || opened.length === 0) throw error;
  } finally {
    await closeAll(cli, opened.toReversed());
  }
}

/** Closes everything, going on after failures. */
async function closeAll({ terminal }: Cli, closings: Opened): Promise<void> {
  for (const close of closings) {
    await close().catch((error: unknown) => {
      terminal.fail(errorMessage(error));
    });
  }
}

async function serve(cli: Cli, options: DevOptions, opened: Opened): Promise<void> {
  const { appName, host, port, reloads, python, provisionsAll } = options;
  const openApp = async (): Promise<LiveApp> => {
    const app = await openLiveApp(cli, { appName, reloads, python });
    opened.push(async () => await app.close());
    return app;
  };
  // Opened first, so that nothing is downloaded for a directory without an app.
  const localApp = options.local && (await openApp());
  const edge = options.local && (await openDevEdge(cli, options.local.runtime, python));
  if (edge) opened.push(async () => await edge.close());
  const service = await serviceOf(cli, edge);
  const leftovers = await offerRemoval(cli, service, await findLeftovers(cli, service));
  const app = localApp ?? (await openApp());
  const session = await openLiveSession(cli, service, { appName, leftovers });
  opened.push(async () => await closeSession(cli, session));

  const calls = new LiveCalls({ service, app, session, signal: cli.signal });
  const log = openCallLog(cli);
  const server = await startLocalServer(cli, { app, calls, log, host, port });
  opened.push(async () => await server.close());
  await writeDevServerUrl(cli.directory, server.url);
  opened.push(async () => await removeDevServerUrl(cli.directory));

  cli.warnings?.flush(); // the command may run for hours
  const endpoints = await app.endpoints();
  showStartupTable(cli, endpoints, server);
  app.onChange((change) => {
    log.between(() => showChange(cli.terminal, change));
    void removeUndeclared(cli, app, session);
  });
  if (provisionsAll && (await confirmProvisioning(cli, session, endpoints)))
    await provision(cli, session, endpoints);
  if (!cli.signal.aborted) await once(cli.signal, "abort");
}

/** Deletes endpoints that are no longer declared; those that cannot be deleted now are deleted at the end. */
async function removeUndeclared({ terminal }: Cli, app: LiveApp, session: LiveSession): Promise<void> {
  try {
    const endpoints = await app.endpoints();
    await session.keepOnly(endpoints.map(({ name }) => name));
  } catch (error) {
    terminal.warn(errorMessage(error));
  }
}

async function openDevEdge(
  cli: Cli,
  runtime: "docker" | "process",
  python: string | undefined,
): Promise<LocalEdge> {
  const workers =
    runtime === "docker" ? "Workers run in Docker." : "Workers are plain processes, which nothing isolates.";
  cli.terminal.say("--local: edge and workers run on this computer alone; no other service is used.");
  cli.terminal.say(`${workers} GPUs are simulated: no card is used.`);
  const stateDirectory = join(cli.directory, FLASH_DIRECTORY, "local");
  return await openLocalEdge(cli, { command: "flash dev --local", stateDirectory, runtime, python });
}

async function serviceOf(cli: Cli, edge: LocalEdge | undefined): Promise<Service> {
  if (edge === undefined) return await openService(cli);
  return serviceAt(cli, edge);
}

async function closeSession({ terminal }: Cli, session: LiveSession): Promise<void> {
  const { deleted, left } = await session.close();
  if (deleted > 0) terminal.done(`Deleted ${counted(deleted, "live endpoint")}.`);
  if (left.length === 0) return;
  terminal.fail(`${counted(left.length, "live endpoint")} could not be deleted: ${left.join(", ")}.`);
  terminal.warn("The service deletes them within minutes, when their lease expires.");
}

/** Shows what a change of files changed; nothing where no endpoint is affected. */
export function showChange(terminal: Terminal, change: AppChange): void {
  const { added, removed, changed, reconfigured, problems, warnings } = change;
  const isNamed = new Set([...added, ...reconfigured]);
  const parts = [
    changeSummary(
      "changed",
      changed.filter((name) => !isNamed.has(name)),
    ),
    changeSummary("reconfigured", reconfigured),
    changeSummary("added", added),
    changeSummary("removed", removed),
  ].filter((part) => part !== "");
  if (parts.length > 0) terminal.done(`Reloaded: ${parts.join("; ")}`);
  for (const warning of warnings) terminal.warn(warning);
  for (const problem of problems) terminal.fail(problem);
  if (problems.length > 0) terminal.say("  All other functions are unaffected.");
  // Problems were fixed, and nothing else has changed.
  else if (parts.length + warnings.length === 0) terminal.done("Reloaded: all problems are fixed");
}

function changeSummary(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.join(", ")}`;
}

const FILE = "dev.json";
/** `.flash/dev.json`: where `flash dev` of the project listens, for scripts that call functions through it. */
const devServerSchema = z.object({ url: z.string(), pid: z.number() });

export async function writeDevServerUrl(directory: string, url: string): Promise<void> {
  await writeFileAtomic(devServerFile(directory), `${JSON.stringify({ url, pid: process.pid })}\n`);
}

/** Removes the file unless another process has replaced it. A file that cannot be removed names a process that has ended. */
export async function removeDevServerUrl(directory: string): Promise<void> {
  const path = devServerFile(directory);
  try {
    const { pid } = devServerSchema.parse(JSON.parse(await readFile(path, "utf8")));
    if (pid === process.pid) await rm(path, { force: true });
  } catch {
    // It does not exist, or is not ours.
  }
}

function devServerFile(directory: string): string {
  return join(directory, FLASH_DIRECTORY, FILE);
}
