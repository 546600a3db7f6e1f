/** Starts the edge with meters, and reads them. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildAssets } from "../../scripts/bundle/assets.ts";
import { edgeBuild } from "../../scripts/bundle/edge-bundle.ts";
import { Guard } from "../../standalone/guard.ts";
import { startEdge } from "../../standalone/edge.ts";
import type { Usage } from "../scenarios/price.ts";
import { Edge, type EdgeStart } from "../contestants/edge.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SCRIPT = join(import.meta.dirname, "script/index.ts");

/** So many messages that come in on a WebSocket are billed as one request. */
const MESSAGES_PER_REQUEST = 20;

const OBJECTS = ["endpoint", "fleet"] as const;

type ObjectMeters = {
  /** By method; `fetch` opens a WebSocket, `webSocketMessage` is a message that came in on one. */
  readonly calls: Readonly<Record<string, number>>;
  readonly awakeMs: number;
  /** By statement; those of waking are among them. */
  readonly rows: Readonly<Record<string, Rows>>;
};

export type Rows = { readonly read: number; readonly written: number };

/** Since the script started. */
export type Meters = {
  readonly workerRequests: number;
  readonly endpoint: ObjectMeters;
  readonly fleet: ObjectMeters;
};

export function startMeteredEdge(): Promise<Edge> {
  const apiKey = `er_${randomBytes(20).toString("hex")}`;
  const start: EdgeStart = async (port, stateDirectory) => {
    const bundleDirectory = join(stateDirectory, "metered-bundle");
    await build(bundleDirectory);
    const part = await startEdge({
      build: await edgeBuild(ROOT, bundleDirectory),
      packages: ROOT,
      persistenceDirectory: join(stateDirectory, "edge"),
      logPath: join(stateDirectory, "edge.log"),
      port,
      bindings: { ROOT_API_KEY: apiKey, WEBHOOK_ALLOW_PRIVATE: "true" },
    });
    const guard = new Guard(); // the runtime would outlive a killed benchmark
    guard.watch("edge", part.pid, 0);
    const stop = async () => {
      await part.stop();
      guard.dismiss();
    };
    return { apiKey, pids: [part.pid], stop };
  };
  return Edge.start(start);
}

export async function readMeters(edge: Edge): Promise<Meters> {
  const reply = await fetch(`${edge.url}/meter`);
  if (!reply.ok) throw new Error(`The meters answered ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as Meters;
}

async function build(directory: string): Promise<void> {
  await buildAssets(ROOT);
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", CI: "1" };
  const args = [wrangler, "deploy", SCRIPT, "--dry-run", "--outdir", directory];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
}

/** What was counted between two readings. */
export function usageBetween(before: Meters, after: Meters): Usage {
  const calls = callsBetween(before, after);
  const awakeMs = (meters: Meters): number => meters.endpoint.awakeMs + meters.fleet.awakeMs;
  return {
    workerRequests: after.workerRequests - before.workerRequests,
    objectRequests: Object.entries(calls).reduce((sum, [call, count]) => sum + count * weightOf(call), 0),
    objectSeconds: (awakeMs(after) - awakeMs(before)) / 1_000,
    ...rowsBetween(before, after),
  };
}

function rowsBetween(before: Meters, after: Meters): Pick<Usage, "rowsRead" | "rowsWritten"> {
  const rows = Object.values(statementsBetween(before, after));
  return {
    rowsRead: rows.reduce((sum, { read }) => sum + read, 0),
    rowsWritten: rows.reduce((sum, { written }) => sum + written, 0),
  };
}

/** Rows of objects between two readings, by object and statement. */
export function statementsBetween(before: Meters, after: Meters): Readonly<Record<string, Rows>> {
  const entries = OBJECTS.flatMap((object) =>
    Object.entries(after[object].rows).map(([statement, { read, written }]): [string, Rows] => {
      const earlier = before[object].rows[statement];
      const rows = { read: read - (earlier?.read ?? 0), written: written - (earlier?.written ?? 0) };
      return [`${object}: ${statement}`, rows];
    }),
  );
  return Object.fromEntries(entries.filter(([, { read, written }]) => read + written > 0));
}

function weightOf(call: string): number {
  return call.endsWith(".webSocketMessage") ? 1 / MESSAGES_PER_REQUEST : 1;
}

/** Calls of objects between two readings, by object and method. */
export function callsBetween(before: Meters, after: Meters): Readonly<Record<string, number>> {
  const entries = OBJECTS.flatMap((object) =>
    Object.entries(after[object].calls).map(([method, count]): [string, number] => [
      `${object}.${method}`,
      count - (before[object].calls[method] ?? 0),
    ]),
  );
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}
