/** What both agents do alike: one request to the worker. */
import { Agent, type IncomingMessage, request } from "node:http";

const connections = new Agent({ keepAlive: true, maxFreeSockets: 512 });
const SMALL_BYTES = 64 * 1024;

export type RequestHead = {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly [string, string][];
};

export type WorkerCall = ReturnType<typeof callWorker>;

export function callWorker(port: number, { method, target, headers }: RequestHead) {
  const call = request({
    host: "127.0.0.1",
    port,
    method,
    path: target,
    headers: headers.flat(),
    agent: connections,
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) =>
    call.on("response", resolve).on("error", reject),
  );
  return { call, answer };
}

export function encodeAnswerHead(answer: IncomingMessage): Buffer {
  const headers: [string, string][] = [];
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    headers.push([answer.rawHeaders[at]?.toLowerCase() ?? "", answer.rawHeaders[at + 1] ?? ""]);
  }
  return Buffer.from(JSON.stringify({ status: answer.statusCode, headers }));
}

/** All of a body that is small and says so; else null. */
export async function wholeBody(answer: IncomingMessage): Promise<Buffer | null> {
  const length = answer.headers["content-length"];
  if (length === undefined || Number(length) > SMALL_BYTES) return null;
  return Buffer.concat(await answer.toArray());
}
