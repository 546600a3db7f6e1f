/** A worker's answer as the client receives it. */
import { ignoreFailure } from "../../std/errors.ts";
import { responseHeadSchema, type ResponseHead, decodeJson } from "../../link/link-messages.ts";
import type { ForwardReply } from "../../forwarding/messages.ts";
import { ServiceError } from "../../contract/errors.ts";
import { isolateHeaders } from "./origin-isolation.ts";
import { AFFINITY_HEADER, fromByteString, endToEndHeaders } from "./headers.ts";
import { copyStream, type Watch } from "./stream-copy.ts";

/** Time until a worker begins its answer, and between two pieces of it. */
export const LOAD_BALANCED_TIME_LIMIT_MS = 5.5 * 60_000;

export type WorkerAnswer = Extract<ForwardReply, { kind: "answer" }>;

/** Statuses whose answers have no body, whatever the worker sends. */
const BODILESS = new Set([204, 205, 304]);

/** The receiver of the answer. */
export type ClientConnection = {
  readonly method: string;
  /** The path in front of the worker's; empty on the endpoint's own host. */
  readonly prefix: string;
  /** Keeps the script alive until the answer is sent. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly giveUp: Watch["giveUp"];
};

/** The worker's answer; throws worker_failed when it is not valid HTTP. */
export async function openAnswer(answer: WorkerAnswer, listener: ClientConnection): Promise<Response> {
  const head = readHead(answer);
  const headers = answerHeaders(head, answer.workerId, listener.prefix);
  const init = { status: head.status, statusText: head.statusText, headers, encodeBody: "manual" } as const;
  const { body } = answer;
  try {
    if (isBodiless(head, listener)) {
      if (body instanceof ReadableStream) await body.cancel();
      return new Response(null, init);
    }
    if (body instanceof ReadableStream) return streamAnswer(body, init, listener);
    if (!isLengthRight(headers, body)) throw new Error("Its body is not as long as its Content-Length.");
    return new Response(body, init);
  } catch (error) {
    if (body instanceof ReadableStream) await body.cancel().catch(ignoreFailure);
    throw noAnswer(answer, error);
  }
}

/** The head of an answer, which came from a host. */
export function readHead({ head, workerId }: Pick<WorkerAnswer, "head" | "workerId">): ResponseHead {
  const read = responseHeadSchema.safeParse(decodeJson(head));
  if (!read.success) throw noAnswer({ workerId }, read.error);
  return { ...read.data, statusText: fromByteString(read.data.statusText) };
}

/** The worker's headers that pass to a client below `prefix`, and the id of the worker. */
export function answerHeaders(head: ResponseHead, workerId: string, prefix: string): Headers {
  const headers = new Headers();
  try {
    for (const [name, value] of isolateHeaders(endToEndHeaders(head.headers), prefix)) {
      headers.append(name, fromByteString(value));
    }
  } catch (error) {
    throw noAnswer({ workerId }, error);
  }
  headers.set(AFFINITY_HEADER, workerId);
  return headers;
}

function streamAnswer(
  body: ReadableStream<Uint8Array>,
  init: ResponseInit & { readonly headers: Headers },
  listener: ClientConnection,
): Response {
  const length = init.headers.get("Content-Length");
  const { readable, writable } =
    length === null ? new IdentityTransformStream() : new FixedLengthStream(Number(length));
  const response = new Response(readable, init);
  listener.waitUntil(copyStream(body, writable, { ...listener, limitMs: LOAD_BALANCED_TIME_LIMIT_MS }));
  return response;
}

/** A wrong length would corrupt the connection, or make the client wait. */
function isLengthRight(headers: Headers, body: Uint8Array | null): boolean {
  const length = headers.get("Content-Length");
  return length === null || Number(length) === (body?.byteLength ?? 0);
}

function isBodiless({ status }: ResponseHead, { method }: ClientConnection): boolean {
  return method === "HEAD" || BODILESS.has(status);
}

function noAnswer({ workerId }: { readonly workerId: string }, cause: unknown): ServiceError {
  const why = cause instanceof Error ? ` (${cause.message.split("\n", 1)[0]})` : "";
  return new ServiceError(
    "worker_failed",
    `Worker ${workerId} answered with a status or a header that cannot be sent on${why}. See its logs.`,
    { workerId },
  );
}
