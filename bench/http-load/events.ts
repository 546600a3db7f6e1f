/** Server-sent events: how long each takes from the server to the client. */
import { Client } from "undici";
import type { EventsOrder } from "./target.ts";

const NS_PER_MS = 1e6;

/** Delay of each event in ms. Server and client read the clock of one machine. */
export async function eventDelays({ target, count, gapMs }: EventsOrder): Promise<readonly number[]> {
  const connection = new Client(target.origin);
  const path = `${target.prefix}/events?count=${count}&gap=${gapMs}`;
  const { body } = await connection.request({ method: "GET", path, headers: target.headers });
  const delays: number[] = [];
  for await (const piece of body) {
    const now = process.hrtime.bigint();
    for (const [, sentAt] of String(piece).matchAll(/data: (\d+)/g)) {
      delays.push(Number(now - BigInt(sentAt ?? 0)) / NS_PER_MS);
    }
  }
  await connection.close();
  if (delays.length !== count) throw new Error(`Of ${count} events ${delays.length} came.`);
  return delays;
}
