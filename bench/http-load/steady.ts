/** Requests at a fixed rate, and a connection on which nothing happens: what a count of costs asks for. */
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import WebSocket from "ws";
import type { SteadyOrder, Target } from "./target.ts";

/** Resolves when all are answered; how many were refused. */
export async function steady({ target, count, everyMs, waitMs }: SteadyOrder): Promise<number> {
  const pool = new Pool(target.origin);
  let refused = 0;
  const ask = async (): Promise<void> => {
    const path = `${target.prefix}/wait?ms=${waitMs}`;
    const { statusCode, body } = await pool.request({ method: "GET", path, headers: target.headers });
    await body.dump();
    if (statusCode !== 200) refused += 1;
  };
  const asked: Promise<void>[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    asked.push(ask());
    await delay(everyMs);
  }
  await Promise.all(asked);
  await pool.close();
  return refused;
}

/** Opens a WebSocket and lets it be. */
export async function idleWebSocket({ target, forMs }: { target: Target; forMs: number }): Promise<void> {
  const url = `${target.origin.replace("http", "ws")}${target.prefix}/socket`;
  const socket = new WebSocket(url, { headers: target.headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  await delay(forMs);
  if (socket.readyState !== WebSocket.OPEN) throw new Error("The WebSocket did not stay open.");
  socket.terminate();
}
