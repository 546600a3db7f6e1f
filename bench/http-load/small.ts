/** Small requests in a closed loop, with a connection for each client. */
import { Client } from "undici";
import type { SmallOrder, SmallResult, Target } from "./target.ts";
import { download } from "./transfer.ts";

const DOWNLOADS_BESIDE = 4;
const DOWNLOAD_BYTES = 30_000_000;

export async function small({ target, clients, maxMs, bodyBytes }: SmallOrder): Promise<SmallResult> {
  const latenciesMs: number[] = [];
  const failed: string[] = [];
  const body = bodyBytes > 0 ? Buffer.alloc(bodyBytes, "x") : null;
  const startedAt = performance.now();
  const runClient = async (): Promise<void> => {
    const connection = new Client(target.origin, { pipelining: 1 });
    while (performance.now() - startedAt < maxMs) {
      const sentAt = performance.now();
      const outcome = await request(connection, target, body);
      if (outcome === null) latenciesMs.push(performance.now() - sentAt);
      else failed.push(outcome);
    }
    await connection.close();
  };
  await Promise.all(Array.from({ length: clients }, runClient));
  const seconds = (performance.now() - startedAt) / 1_000;
  const [firstFailure = null] = failed;
  return { latenciesMs, perSecond: latenciesMs.length / seconds, failures: failed.length, firstFailure };
}

/** Small requests of one client while large downloads go on. */
export async function besideDownloads(order: Omit<SmallOrder, "clients">): Promise<SmallResult> {
  let isOver = false;
  const downloadOn = async (): Promise<void> => {
    while (!isOver) await download(order.target, DOWNLOAD_BYTES);
  };
  const downloads = Array.from({ length: DOWNLOADS_BESIDE }, downloadOn);
  const result = await small({ ...order, clients: 1 });
  isOver = true;
  await Promise.all(downloads);
  return result;
}

/** What went wrong, or null. */
async function request(
  connection: Client,
  { prefix, headers }: Target,
  body: Buffer | null,
): Promise<string | null> {
  const method = body === null ? "GET" : "POST";
  const answer = await connection.request({ method, path: `${prefix}/small`, headers, body });
  const text = await answer.body.text();
  return answer.statusCode === 200 ? null : `${answer.statusCode} ${text.slice(0, 300)}`;
}
