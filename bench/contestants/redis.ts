/** A Redis of the benchmark's own, on a free port, with its data in a directory that goes with it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { Redis } from "ioredis";
import { Guard } from "../../standalone/guard.ts";

/** always: append-only file, fsync before each reply. memory: nothing is ever written to disk. */
export type Durability = "always" | "memory";

export type RedisServer = AsyncDisposable & { readonly port: number; readonly pid: number };

const FLAGS: Record<Durability, readonly string[]> = {
  always: ["--appendonly", "yes", "--appendfsync", "always"],
  memory: ["--appendonly", "no"],
};

export async function startRedis(durability: Durability): Promise<RedisServer> {
  const port = await getPort({ host: "127.0.0.1" });
  const directory = await mkdtemp(join(tmpdir(), "edgerun-bench-redis-"));
  const flags = [
    "--port",
    `${port}`,
    "--bind",
    "127.0.0.1",
    "--dir",
    directory,
    "--save",
    "",
    "--loglevel",
    "warning",
  ];
  const server = spawn("redis-server", [...flags, "--maxmemory-policy", "noeviction", ...FLAGS[durability]], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const failed = once(server, "error").then(([error]) => {
    throw new Error(`${String(error)}\nThe benchmark needs Redis: apt-get install redis-server`);
  });
  failed.catch(() => {});
  await Promise.race([once(server, "spawn"), failed]);
  const { pid = 0 } = server;
  const guard = new Guard(); // Redis would outlive a killed benchmark
  guard.watch("redis", pid, 0);
  await untilAnswering(port);
  return {
    port,
    pid,
    async [Symbol.asyncDispose]() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      guard.dismiss();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function untilAnswering(port: number): Promise<void> {
  const client = new Redis({ port, host: "127.0.0.1", maxRetriesPerRequest: null });
  client.on("error", () => {}); // it is not there yet; the client tries again
  await client.ping();
  client.disconnect();
}

/** Version of the installed Redis; throws what to install when there is none. */
export async function redisVersion(): Promise<string> {
  const child = spawn("redis-server", ["--version"], { stdio: ["ignore", "pipe", "inherit"] });
  const failed = once(child, "error").then(() => {
    throw new Error(
      "The benchmark compares with BullMQ on Redis, and there is no redis-server here.\n" +
        "Install it, without starting it as a service: apt-get install redis-server\n" +
        "Or measure Edgerun alone: npm run bench -- --contestants edgerun,edgerun-whole",
    );
  });
  failed.catch(() => {});
  const text = await Promise.race([new Response(child.stdout as never).text(), failed]);
  return /v=(\S+)/.exec(text)?.[1] ?? text.trim();
}
