/** Many downloads that are read slowly, so that what lies between server and client must hold back. */
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import type { SlowOrder } from "./target.ts";

const PIECE_BYTES = 16 * 1024;
const PIECE_EVERY_MS = 250;

const requests = new Set<ClientRequest>();
let timer: NodeJS.Timeout | undefined;

/** Resolves when all have begun; the number of those that have. */
export async function startSlowDownloads({ target, clients, bytes }: SlowOrder): Promise<number> {
  const url = `${target.origin}${target.prefix}/download?bytes=${bytes}`;
  const starts = Array.from({ length: clients }, () => start(url, target.headers));
  const answers = await Promise.all(starts);
  timer = setInterval(() => answers.forEach((answer) => answer.read(PIECE_BYTES)), PIECE_EVERY_MS);
  return answers.filter(({ statusCode }) => statusCode === 200).length;
}

/** Breaks them off. */
export function endSlowDownloads(_: null): void {
  clearInterval(timer);
  for (const request of requests) request.destroy();
  requests.clear();
}

function start(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (answer) => {
      answer.on("error", () => {}); // it is broken off
      resolve(answer);
    });
    request.on("error", reject);
    requests.add(request);
  });
}
