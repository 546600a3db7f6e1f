/** Answers of the local server itself, all of them JSON, and of calls that fail. */
import { Failure } from "../../../src/std/failure.ts";
import { type CallLine, type CallLog, CallFailure } from "./served-app.ts";

/** The server rejects a request before it is called. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: number;
  /** A message, or a list of invalid fields. */
  readonly detail: string | readonly FieldIssue[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    detail: RequestError["detail"],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(typeof detail === "string" ? detail : detail.map(formatIssue).join("; "));
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }

  answer(): Response {
    return detailResponse(this.status, this.detail, this.headers);
  }
}

/** One invalid field, in the format of FastAPI. */
export type FieldIssue = {
  /** Path, such as ["body", "input", "prompt"]. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
};

export function detailResponse(
  status: number,
  detail: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ detail }, { status, headers });
}

/** The response to OPTIONS, and to a method that is not allowed. */
export function methodResponse(method: string, allowed: readonly string[]): Response {
  const all = [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
  const headers = { Allow: all.join(", ") };
  if (method === "OPTIONS") return new Response(null, { status: 204, headers });
  return detailResponse(405, `${method} is not allowed here; use ${allowed.join(" or ")}.`, headers);
}

function formatIssue({ loc, msg }: FieldIssue): string {
  return `${loc.slice(1).join(".") || loc.join(".")}: ${msg}`;
}

/** For a caller that has disconnected. */
const CLIENT_CLOSED_REQUEST = 499;
/** Headers of one connection. */
const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "upgrade"];

/** Answers a call; an error becomes a response and ends the line. */
export async function answerObserved(
  line: CallLine,
  request: Request,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await withoutHopHeaders(await answer(), request.method);
  } catch (error) {
    if (!request.signal.aborted) return answerOfError(error, line);
    line.fail("the caller has disconnected");
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
}

/** A line for polling calls: it is shown only for failures. */
export function failuresOnly(log: CallLog, call: Parameters<CallLog["begin"]>[0]): CallLine {
  const silent = (): void => {};
  return {
    waiting: silent,
    running: silent,
    printed: silent,
    awaitLog: () => silent,
    done: silent,
    fail: (reason, detail) => log.begin(call).fail(reason, detail),
  };
}

/** The response for an error, which also ends the line. */
export function answerOfError(error: unknown, line?: CallLine): Response {
  if (error instanceof RequestError) {
    line?.fail(error.message);
    return error.answer();
  }
  if (error instanceof CallFailure) {
    line?.fail(error.message, error.detail);
    return detailResponse(error.status, error.message);
  }
  if (error instanceof Failure) {
    line?.fail(error.message, error.advice.join("\n"));
    return detailResponse(503, [error.message, ...error.advice].join(" "));
  }
  const cause = error instanceof Error ? error : new Error(String(error));
  const message = `flash crashed (internal error): ${cause.message}`;
  line?.fail(message, cause.stack);
  return detailResponse(500, message);
}

async function withoutHopHeaders(answer: Response, method: string): Promise<Response> {
  const headers = new Headers(answer.headers);
  for (const name of HOP_BY_HOP) headers.delete(name);
  const { body, status, statusText } = answer;
  if (method !== "HEAD") return new Response(body, { status, statusText, headers });
  await body?.cancel();
  return new Response(null, { status, statusText, headers });
}
