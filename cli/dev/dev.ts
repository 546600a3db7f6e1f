/** What `flash dev` does, from its start to Ctrl+C. */
import { once } from "node:events";
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { type LocalEdge, openLocalEdge } from "../local/local-edge.ts";
import { startLocalServer } from "../server/local-server.ts";
import { showStartupTable } from "../server/startup-table.ts";
import { openCallLog } from "../server/terminal-call-log.ts";
import { Service } from "../service/service.ts";
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
  /** Changes of files are followed. */
  readonly reloads: boolean;
  /** Every live endpoint is made at the start. */
  readonly provisionsAll: boolean;
  readonly python?: string | undefined;
  /** Workers run on this computer, whatever service is configured. */
  readonly local?: { readonly runtime: "docker" | "process" };
};

/** What is to be ended, the last that was opened first. */
type Opened = (() => Promise<void>)[];

/** Serves until it is interrupted; then nothing of it is left, here or on the service. */
export async function dev(cli: Cli, options: DevOptions): Promise<void> {
  const opened: Opened = [];
  try {
    await serve(cli, options, opened);
  } catch (error) {
    // Being interrupted is how it ends.
    if (error !== cli.signal.reason || opened.length === 0) throw error;
  } finally {
    await closeAll(cli, opened.toReversed());
  }
}

/** What cannot be closed keeps nothing else from its end. */
async function closeAll({ terminal }: Cli, closings: Opened): Promise<void> {
  for (const close of closings) {
    await close().catch((error: unknown) => {
      terminal.fail(error instanceof Error ? error.message : String(error));
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
  // Nothing is fetched and started for a folder without an app.
  const localApp = options.local && (await openApp());
  const edge = options.local && (await openLocalEdge(cli, { ...options.local, python }));
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

  cli.warnings?.flush(); // its end is hours away
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

/** What cannot be deleted now is deleted at the end. */
async function removeUndeclared({ terminal }: Cli, app: LiveApp, session: LiveSession): Promise<void> {
  try {
    const endpoints = await app.endpoints();
    await session.keepOnly(endpoints.map(({ name }) => name));
  } catch (error) {
    terminal.warn(error instanceof Error ? error.message : String(error));
  }
}

async function serviceOf(cli: Cli, edge: LocalEdge | undefined): Promise<Service> {
  if (edge === undefined) return await openService(cli);
  cli.hide?.(edge.apiKey);
  return new Service({
    url: edge.url,
    apiKey: edge.apiKey,
    onWarning: (message) => cli.warnings?.add(message),
    signal: cli.signal,
  });
}

async function closeSession({ terminal }: Cli, session: LiveSession): Promise<void> {
  const { deleted, left } = await session.close();
  if (deleted > 0) terminal.done(`Deleted ${counted(deleted, "live endpoint")}.`);
  if (left.length === 0) return;
  terminal.fail(`${counted(left.length, "live endpoint")} could not be deleted: ${left.join(", ")}.`);
  terminal.warn("The service deletes them when their lease has lapsed, within minutes.");
}

/** What a change of files has changed; nothing for a change that no endpoint notices. */
export function showChange(terminal: Terminal, change: AppChange): void {
  const { added, removed, changed, reconfigured, problems, warnings } = change;
  const isNamed = new Set([...added, ...reconfigured]);
  const parts = [
    changeSummary(
      "changed",
      changed.filter((name) => !isNamed.has(name)),
    ),
    changeSummary("configured anew", reconfigured),
    changeSummary("added", added),
    changeSummary("removed", removed),
  ].filter((part) => part !== "");
  if (parts.length > 0) terminal.done(`Reloaded: ${parts.join("; ")}`);
  for (const warning of warnings) terminal.warn(warning);
  for (const problem of problems) terminal.fail(problem);
  if (problems.length > 0) terminal.say("  All other functions go on as they were.");
  // What was broken is as it was before, so nothing else has changed.
  else if (parts.length + warnings.length === 0) terminal.done("Reloaded: everything can be read again");
}

function changeSummary(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.join(", ")}`;
}

const FILE = "dev.json";
const devServerSchema = z.object({ url: z.string(), pid: z.number() });

export async function writeDevServerUrl(directory: string, url: string): Promise<void> {
  await writeFileAtomic(devServerFile(directory), `${JSON.stringify({ url, pid: process.pid })}\n`);
}

/** Another one of the same project may have told its own by now. What cannot be removed stays: its process is gone. */
export async function removeDevServerUrl(directory: string): Promise<void> {
  const path = devServerFile(directory);
  try {
    const { pid } = devServerSchema.parse(JSON.parse(await readFile(path, "utf8")));
    if (pid === process.pid) await rm(path, { force: true });
  } catch {
    // It is gone, or is none of ours.
  }
}

function devServerFile(directory: string): string {
  return join(directory, FLASH_DIRECTORY, FILE);
}
