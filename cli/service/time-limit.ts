/**
 * Aborts with the signal, or after that time. Not AbortSignal.timeout within AbortSignal.any: Node 20 forgets such a
 * timer, so that what waits for an answer waits for ever.
 */
export function withinMs(limitMs: number, signal: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const tooLate = (): void => limit.abort(new DOMException(`no answer within ${limitMs} ms`, "TimeoutError"));
  setTimeout(tooLate, limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}
