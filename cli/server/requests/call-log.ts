/** What a person sees of the calls that the local server is sent. */

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
