/**
 * The edge on this machine: the built Worker script in the Workers runtime, with D1, Durable Objects and R2 on
 * disk. Everything of Miniflare that may change its name stays in this file.
 */
import { ignoreFailure } from "../src/std/errors.ts";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import diagnosticsChannel from "node:diagnostics_channel";
import { createWriteStream } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as MiniflarePackage from "miniflare";
import type { EdgeBuild } from "./edge-build.ts";
import { type Front, openFront } from "./front.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

export type EdgeSettings = {
  readonly build: EdgeBuild;
  /** A directory from which Node finds Miniflare. */
  readonly packages: string;
  readonly persistenceDirectory: string;
  readonly logPath: string;
  /** 0: any free port. */
  readonly port: number;
  /** Port at which DevTools may inspect it; undefined: none. */
  readonly inspectorPort?: number | undefined;
  /** Secrets and variables that `wrangler secret put` would set in production. */
  readonly bindings: Readonly<Record<string, string>>;
};

/** The edge process, and where it listens. */
export type EdgeProcess = SupervisedProcess & { readonly port: number };

type MiniflareModule = typeof MiniflarePackage;
type Runtime = { readonly pid: number; readonly ended: Promise<string> };

/**
 * Finds the process that `start` starts: Miniflare exposes neither its id nor its end, but Node's diagnostics channel
 * does. `onEnd` runs before Miniflare learns of the end, so it can prevent Miniflare's own restarts, which have no
 * back-off; supervised-process.ts restarts it.
 */
async function withRuntime(start: () => Promise<unknown>, onEnd: () => void): Promise<Runtime> {
  const { promise: spawned, resolve } = Promise.withResolvers<Runtime>();
  const watch = (message: unknown): void => {
    const child = (message as { process: ChildProcess }).process;
    const ended = new Promise<string>((resolveEnded) => {
      child.once("exit", (code, signal) => {
        onEnd();
        resolveEnded(signal ? `killed by ${signal}` : `exit code ${code}`);
      });
    });
    child.once("spawn", () => {
      if (child.pid !== undefined) resolve({ pid: child.pid, ended });
    });
  };
  diagnosticsChannel.subscribe("child_process", watch);
  try {
    await start();
    return await spawned;
  } finally {
    diagnosticsChannel.unsubscribe("child_process", watch);
  }
}

/** Requests to this host are for the migrator. */
const MIGRATOR_HOST = "migrator";
const MIGRATOR_KEY = randomUUID();

/** Miniflare puts a script for assets before the default entry point only. */
const SCRIPT_ENTRYPOINT = "script";
const ENTRY = `export * from "./index.js"; export { default, default as ${SCRIPT_ENTRYPOINT} } from "./index.js";`;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Removes the signal listeners with which Miniflare would end this process before our own shutdown. */
function withoutSignalListeners<T>(create: () => T): T {
  const before = new Set<unknown>(SIGNALS.flatMap((signal) => process.listeners(signal)));
  const created = create();
  for (const signal of SIGNALS) {
    for (const listener of process.listeners(signal)) {
      if (!before.has(listener)) process.removeListener(signal, listener);
    }
  }
  return created;
}

async function importMiniflare(packages: string): Promise<MiniflareModule> {
  const path = createRequire(join(packages, "package.json")).resolve("miniflare");
  return (await import(pathToFileURL(path).href)) as MiniflareModule;
}

function createMiniflare(
  { convertV4MiniflareOptions, Log, LogLevel, Miniflare }: MiniflareModule,
  settings: EdgeSettings,
): { miniflare: MiniflarePackage.Miniflare; closeLog: () => void } {
  const { directory, workerOptions, migrator } = settings.build;
  const log = createWriteStream(settings.logPath, { flags: "a", mode: 0o600 });
  const worker = {
    ...workerOptions,
    name: "edgerun",
    modulesRoot: directory,
    // Bypasses Miniflare's own scripts, for all requests and for assets, which take longer than ours.
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0, entrypoint: SCRIPT_ENTRYPOINT }],
    modules: [
      { type: "ESModule" as const, path: join(directory, "entry.js"), contents: ENTRY },
      { type: "ESModule" as const, path: join(directory, "index.js") },
    ],
    // It listens on loopback: a request with another host name came through a proxy, which decides about HTTPS.
    bindings: {
      ...workerOptions.bindings,
      ALLOW_PLAIN_HTTP: "true",
      WITHOUT_CLOUDFLARE: "true",
      ...settings.bindings,
    },
  };
  const { compatibilityDate, d1Databases } = workerOptions;
  const migration = {
    name: "migrator",
    compatibilityDate,
    d1Databases,
    routes: [`${MIGRATOR_HOST}/*`],
    bindings: { KEY: MIGRATOR_KEY },
    modules: [{ type: "ESModule" as const, path: "migrator.js", contents: migrator }],
  };
  const options = convertV4MiniflareOptions({
    host: "127.0.0.1",
    cf: false,
    ...(settings.inspectorPort && { inspectorPort: settings.inspectorPort }),
    logRequests: false,
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: ({ timestamp, level, message }) => {
      if (log.writable) log.write(`${new Date(timestamp).toISOString()} ${level} ${message}\n`);
    },
    resourcePersistencePath: settings.persistenceDirectory,
    // A request to Miniflare's own port runs the maintenance; another program's request there does nothing else.
    unsafeTriggerHandlers: true,
    workers: [worker, migration],
  });
  const miniflare = withoutSignalListeners(() => new Miniflare(options));
  return { miniflare, closeLog: () => log.end() };
}

/** The cron schedule of wrangler.toml, which this machine does not run. */
const MAINTENANCE_INTERVAL_MS = 5 * 60_000;

/** Runs the maintenance of the edge now and every few minutes; returns a function that ends it. */
function keepMaintained(miniflare: MiniflarePackage.Miniflare): () => void {
  const maintain = async (): Promise<void> => {
    await ask(miniflare, "http://localhost/cdn-cgi/local/scheduled?cron=local");
  };
  // The edge logs its failures; while it does not run, the next round tries again.
  const run = (): void => void maintain().catch(ignoreFailure);
  run();
  const timer = setInterval(run, MAINTENANCE_INTERVAL_MS);
  return () => clearInterval(timer);
}

async function migrate(miniflare: MiniflarePackage.Miniflare, { migrations }: EdgeBuild): Promise<void> {
  await ask(miniflare, `http://${MIGRATOR_HOST}/`, {
    method: "POST",
    headers: { authorization: `Bearer ${MIGRATOR_KEY}` },
    body: JSON.stringify(migrations),
  });
}

/** Sends a request to a Worker in the runtime; throws its answer when it fails. */
async function ask(
  miniflare: MiniflarePackage.Miniflare,
  ...request: Parameters<MiniflarePackage.Miniflare["dispatchFetch"]>
): Promise<void> {
  const response = await miniflare.dispatchFetch(...request);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}

/** Starts the runtime and brings the database up to date. The port answers before this resolves. */
export async function startEdge(settings: EdgeSettings): Promise<EdgeProcess> {
  const { miniflare, closeLog } = createMiniflare(await importMiniflare(settings.packages), settings);
  let disposed: Promise<void> | undefined;
  let endMaintenance = (): void => {};
  let front: Front | undefined;
  // SIGKILL: with SIGTERM the runtime would wait for its long polls.
  const stop = async (): Promise<void> => {
    endMaintenance();
    front?.close();
    disposed ??= miniflare.dispose().catch(ignoreFailure); // it throws when the runtime has ended before
    await disposed;
    closeLog();
  };
  try {
    const runtime = await withRuntime(
      async () => miniflare.ready,
      () => void stop(),
    );
    await migrate(miniflare, settings.build);
    const url = await miniflare.unsafeGetDirectURL(undefined, SCRIPT_ENTRYPOINT);
    front = await openFront(settings.port, Number(url.port));
    endMaintenance = keepMaintained(miniflare);
    return { ...runtime, port: front.port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
