/**
 * The seam between the local server and what is behind it: live workers in `flash dev`, containers of this computer
 * in `flash deploy --preview`.
 */
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import type { JobJson } from "./request-body.ts";

export type ServedEndpoint = {
  readonly name: string;
  readonly resource: ManifestResource;
  /** Why it cannot be called now, with file and line: its code cannot be read. */
  readonly problem?: string | undefined;
};

export interface ServedApp {
  readonly name: string;
  /** The endpoints as the files are at this moment; waits while they are being read. */
  endpoints(): Promise<readonly ServedEndpoint[]>;
  /** What of the files cannot be read, with file and line: an endpoint that is not known may be declared there. */
  readonly problems?: readonly string[];
}

/** A call of the queue API, by the name of its operation; what needs no body has none. */
export type QueueCall = {
  readonly operation:
    | "run"
    | "runsync"
    | "status"
    | "stream"
    | "cancel"
    | "retry"
    | "purge-queue"
    | "health"
    | "requests";
  readonly jobId?: string | undefined;
  /** Of run and runsync, and checked: its input fits the function. */
  readonly job?: JobJson;
  /** With the question mark, or empty. */
  readonly search: string;
  /** Those that mean something to the queue API, by their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * C1  `line` is told how a call goes on. Who answers ends it; the server does so where something is thrown instead.
 * C2  CallFailure has its own status; any other Failure is a 503, and what else is thrown is a fault: 500.
 * C3  The signal, of a call or of a request, aborts when the caller has gone or the server is closed.
 */
export interface EndpointCalls {
  /** Answers as the service does. Throws a Failure where nothing answers. */
  queue(endpoint: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response>;
  /**
   * Answers as the route does. `path` begins with the slash behind the endpoint's name, encoded as it came; the query
   * is that of the request's address. The body is whole by then, at most as large as the service takes it.
   */
  route(endpoint: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response>;
  /**
   * Answers as the service does to OpenAI's clients, for images of one's own; `path` begins with `/openai/`. Left out
   * where no service is behind the server.
   */
  openai?(endpoint: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response>;
}

/**
 * Nothing can answer a call; the status is what its caller gets, with the message as `detail`. The server ends the
 * call's line with the message and with `shown`, such as a traceback.
 */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly status: 413 | 422 | 500 | 502 | 503 | 504;
  readonly detail: string | undefined;

  constructor(status: CallFailure["status"], message: string, detail?: string) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

/**
 * One call, from its first line to its last; exactly one of `done` and `fail` ends it. Who answers the call ends it,
 * perhaps after the answer: a job goes on when its caller has its id. What a worker has printed may come a little later.
 */
export interface CallLine {
  /** It waits, and why; said again only when the reason is another one. */
  waiting(reason: string): void;
  /** A worker has it. */
  running(worker: { readonly id: string; readonly gpu?: string | undefined }): void;
  /** What the worker has printed. */
  printed(line: string): void;
  /**
   * What the worker prints comes by a way of its own, and perhaps after the answer. The result is to be called when all of
   * it has been told; calls that begin meanwhile are shown after it.
   */
  awaitLog(): () => void;
  done(facts: { readonly ranMs?: number | undefined; readonly queuedMs?: number | undefined }): void;
  /** `detail` may have several lines, such as a traceback with local files. */
  fail(reason: string, detail?: string): void;
}

export interface CallLog {
  begin(call: {
    readonly method: string;
    readonly path: string;
    readonly endpoint?: string | undefined;
  }): CallLine;
  /** Shows something else in its place among the calls: after those that are over by now. */
  between(show: () => void): void;
}
