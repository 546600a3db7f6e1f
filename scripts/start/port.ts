import { once } from "node:events";
import { createServer } from "node:net";
import { isBlockedPort, PORT_MAX } from "../../src/net/port.ts";
import { Failure } from "../../src/std/failure.ts";

const HOST = "127.0.0.1";
const PORTS_TO_TRY = 20;

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: HOST, exclusive: true });
    await once(server, "listening");
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  } finally {
    server.close();
  }
}

async function nextFreePort(taken: number): Promise<number | undefined> {
  for (let port = taken + 1; port <= Math.min(taken + PORTS_TO_TRY, PORT_MAX); port += 1) {
    if (!isBlockedPort(port) && (await isFree(port))) return port;
  }
  return undefined;
}

/** Throws a failure that names a free port when this one is taken. */
export async function requireFreePort(port: number): Promise<void> {
  if (await isFree(port)) return;
  const free = await nextFreePort(port);
  throw new Failure(`Port ${port} is taken by another program.`, [
    free
      ? `Port ${free} is free: npm start -- --port ${free}`
      : "Choose another: npm start -- --port <number>",
  ]);
}
