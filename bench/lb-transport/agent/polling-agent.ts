/** The agent of transport A: slots, each of which brings an answer and takes the next request in one call. */
import type { IncomingMessage } from "node:http";
import { type Dispatcher, Pool } from "undici";
import { callWorker, encodeAnswerHead, type RequestHead, wholeBody } from "./worker-call.ts";

/** As many requests as may be with the worker at once: a slot is taken until its answer is through. */
const SLOTS = 256;

type Given = { readonly id: string; readonly head: string; readonly body: Buffer | IncomingMessage };

export function startPollingAgent(edge: string, workerPort: number): void {
  const pool = new Pool(edge, { connections: SLOTS, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  for (let slot = 0; slot < SLOTS; slot += 1) void serve(pool, workerPort);
}

async function serve(pool: Pool, workerPort: number): Promise<void> {
  let given: Given | null = null;
  for (;;) {
    const turn: Dispatcher.ResponseData = await pool.request({
      method: "POST",
      path: "/turn",
      ...(given && { headers: { "x-id": given.id, "x-head": given.head }, body: given.body }),
    });
    given = await answerOf(turn, workerPort);
  }
}

async function answerOf({ headers, body }: Dispatcher.ResponseData, workerPort: number): Promise<Given> {
  const head = JSON.parse(Buffer.from(String(headers["x-head"]), "base64").toString()) as RequestHead;
  const { call, answer } = callWorker(workerPort, head);
  body.pipe(call);
  const message = await answer;
  return {
    id: String(headers["x-id"]),
    head: encodeAnswerHead(message).toString("base64"),
    body: (await wholeBody(message)) ?? message,
  };
}
