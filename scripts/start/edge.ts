/**
 * The edge on this machine: the built bundle in the Workers runtime, with D1, Durable Objects and R2 on
 * disk. Everything of wrangler and Miniflare that may change its name stays in this file.
 */
import type { ChildProcess } from "node:child_process";
import diagnosticsChannel from "node:diagnostics_channel";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_splitSqlQuery } from "wrangler";
import { applyMigrations, type MigratableDatabase } from "./migrations.ts";
import type { Part } from "./part.ts";

export type EdgeSettings = {
  readonly configPath: string;
  readonly bundleDirectory: string;
  readonly migrationsDirectory: string;
  readonly persistenceDirectory: string;
  readonly logPath: string;
  readonly port: number;
  /** Where DevTools may look into it; undefined: nowhere. */
  readonly inspectorPort?: number | undefined;
  /** Secrets and variables that `wrangler secret put` would set in production. */
  readonly bindings: Readonly<Record<string, string>>;
};

type Runtime = { readonly pid: number; readonly ended: Promise<string> };

/**
 * Finds the process that `start` starts: Miniflare tells neither its number nor its end, but Node's own
 * channel does. `onEnd` comes before Miniflare learns of the end, which is why it can forbid the restart
 * that Miniflare would do at once and for ever; part.ts restarts with back-off.
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

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Takes off the listeners with which Miniflare would end this process in the middle of our own stopping. */
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

function createMiniflare(settings: EdgeSettings): { miniflare: Miniflare; closeLog: () => void } {
  const { workerOptions } = unstable_getMiniflareWorkerOptions(settings.configPath);
  const log = createWriteStream(settings.logPath, { flags: "a", mode: 0o600 });
  const worker = {
    ...workerOptions,
    name: "edgerun",
    modulesRoot: settings.bundleDirectory,
    // Past Miniflare's own entry script, which takes as long for a request as all of ours.
    unsafeDirectSockets: [{ host: "127.0.0.1", port: settings.port }],
    modules: [{ type: "ESModule" as const, path: join(settings.bundleDirectory, "index.js") }],
    bindings: { ...(workerOptions as { bindings?: Record<string, string> }).bindings, ...settings.bindings },
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
    workers: [worker],
  });
  const miniflare = withoutSignalListeners(() => new Miniflare(options));
  return { miniflare, closeLog: () => log.end() };
}

/** As wrangler.toml says for Cloudflare, whose clock is not there on this machine. */
const MAINTENANCE_INTERVAL_MS = 5 * 60_000;

/** Runs the maintenance of the edge now and every few minutes; returns what ends that. */
function keepMaintained(miniflare: Miniflare): () => void {
  const maintain = async (): Promise<void> => {
    const worker = await miniflare.getWorker();
    await worker.scheduled({ cron: "local" });
  };
  // The edge logs what fails in it; when it is not there, the next round finds it again.
  const run = (): void => void maintain().catch(() => {});
  run();
  const timer = setInterval(run, MAINTENANCE_INTERVAL_MS);
  return () => clearInterval(timer);
}

/** Starts the runtime and brings the database up to date. The port answers before this resolves. */
export async function startEdge(settings: EdgeSettings): Promise<Part> {
  const { miniflare, closeLog } = createMiniflare(settings);
  let disposed: Promise<void> | undefined;
  let endMaintenance = (): void => {};
  // SIGKILL, since with SIGTERM the runtime drains its long polls for ever.
  const stop = async (): Promise<void> => {
    endMaintenance();
    disposed ??= miniflare.dispose().catch(() => {}); // it complains when the runtime has gone before it
    await disposed;
    closeLog();
  };
  try {
    const runtime = await withRuntime(
      async () => miniflare.ready,
      () => void stop(),
    );
    const database = (await miniflare.getD1Database("DB")) as unknown as MigratableDatabase;
    await applyMigrations(database, settings.migrationsDirectory, unstable_splitSqlQuery);
    endMaintenance = keepMaintained(miniflare);
    return { ...runtime, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
