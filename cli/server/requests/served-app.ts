/**
 * The seam between the local server and what is behind it: live endpoints in `flash dev`, those of a local edge in
 * `flash deploy --preview`.
 */
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";

export type ServedEndpoint = {
  readonly name: string;
  readonly resource: ManifestResource;
  /** Why its code cannot be read and called, with file and line. */
  readonly problem?: string | undefined;
};

export interface ServedApp {
  readonly name: string;
  /** The endpoints of the current files; waits while these are being read. */
  endpoints(): Promise<readonly ServedEndpoint[]>;
  /** Errors of files, with file and line; an unknown endpoint may be declared there. */
  readonly problems?: readonly string[];
}

/** The body of a job, cut in two. */
export type JobJson = {
  /** JSON; undefined where the body has none. */
  readonly input: string | undefined;
  /** The other members, such as a webhook: JSON of an object. */
  readonly options: string;
};

/** The body of a job that has none. */
export const NO_JOB: JobJson = { input: undefined, options: "{}" };

/** A call of the queue API. */
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
  /** Present for run and runsync; its input has been checked against the function. */
  readonly job?: JobJson;
  /** With the question mark, or empty. */
  readonly search: string;
  /** Headers of the queue API, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * C1  `line` shows the progress of a call. The implementation ends it; the server does where an error is thrown.
 * C2  CallFailure has its own status; any other Failure becomes 503, any other error 500.
 * C3  The signal of a call or of a request aborts when the caller has disconnected or the server is closed.
 */
export interface EndpointCalls {
  /** Answers as the service does. Throws a Failure where there is no answer. */
  queue(endpoint: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response>;
  /**
   * Answers as the route does. `path` begins with the slash after the endpoint's name, encoded as it was received; the
   * query is that of the request. The body has been read, within the limit of the service.
   */
  route(endpoint: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response>;
  /**
   * Answers OpenAI clients as the service does, for endpoints with their own image; `path` begins with `/openai/`. Absent
   * where there is no service.
   */
  openai?(endpoint: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response>;
}

/**
 * A call cannot be answered. The caller receives the status, and the message as `detail`; the line of the call shows the
 * message and the detail, such as a traceback.
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
 * The display of one call; exactly one of `done` and `fail` ends it, possibly after the response: a job continues when
 * its caller has its id. Output of the worker may arrive later.
 */
export interface CallLine {
  /** The call waits; repeated reasons are shown once. */
  waiting(reason: string): void;
  /** A worker runs it. */
  running(worker: { readonly id: string; readonly gpu?: string | undefined }): void;
  /** A line that the worker printed. */
  printed(line: string): void;
  /**
   * Announces that lines of the worker will arrive separately, possibly after the response. Call the result when all have
   * been printed; calls that begin meanwhile are shown afterwards.
   */
  awaitLog(): () => void;
  done(facts: { readonly ranMs?: number | undefined; readonly queuedMs?: number | undefined }): void;
  /** `detail` may have several lines, such as a traceback. */
  fail(reason: string, detail?: string): void;
}

export interface CallLog {
  begin(call: {
    readonly method: string;
    readonly path: string;
    readonly endpoint?: string | undefined;
  }): CallLine;
  /** Shows something else after the calls that have ended by now. */
  between(show: () => void): void;
}
