/**
 * What the answers to health probes mean.
 *
 * H1  200: healthy, takes requests. 204: alive, and not ready for requests. Anything else, or nothing, is a failure.
 * H2  A healthy worker becomes unhealthy by HEALTH_FAILURES_MAX failures in a row, or by saying so itself (204);
 *     one 200 makes it healthy again.
 * H3  A refused connection is no server that is only busy: the worker gets nothing from that moment, though it is
 *     called unhealthy only after as many failures as ever.
 */

/** Time for a worker to answer a probe. */
export const HEALTH_PROBE_TIMEOUT_MS = 5_000;
/** A worker that has just started is probed this often at first: most of a cold start is over by then. */
export const HEALTH_PROBE_EAGER_MS = 100;

/** How long a starting worker is probed eagerly. */
export const HEALTH_PROBE_EAGER_FOR_MS = 10_000;

/** Failures in a row after which a worker gets no requests. */
export const HEALTH_FAILURES_MAX = 3;

export type ProbeAnswer =
  | { readonly kind: "status"; readonly status: number }
  /** Nothing listens there. */
  | { readonly kind: "refused"; readonly port: number }
  | { readonly kind: "timeout" }
  /** There was no connection, and no host that refused one. */
  | { readonly kind: "unreached"; readonly host: string; readonly port: number }
  /** The connection broke, or what came is no HTTP. */
  | { readonly kind: "broken"; readonly reason: string };

export type Health = {
  readonly isHealthy: boolean;
  /** It was, since it was last started or thawed. */
  readonly wasHealthy: boolean;
  /** It was healthy, and it is certain that it is not any more. */
  readonly isDown: boolean;
  readonly failuresInRow: number;
  /** The last one; null before the first. */
  readonly answer: ProbeAnswer | null;
};

export const UNPROBED: Health = {
  isHealthy: false,
  wasHealthy: false,
  isDown: false,
  failuresInRow: 0,
  answer: null,
};

export function applyProbe(health: Health, answer: ProbeAnswer): Health {
  const status = answer.kind === "status" ? answer.status : null;
  if (status === 200) return { isHealthy: true, wasHealthy: true, isDown: false, failuresInRow: 0, answer };
  const failuresInRow = status === 204 ? 0 : health.failuresInRow + 1;
  const isCertain = status === 204 || failuresInRow >= HEALTH_FAILURES_MAX;
  return {
    isHealthy: health.isHealthy && !isCertain && answer.kind !== "refused",
    wasHealthy: health.wasHealthy,
    isDown: health.isDown || (health.wasHealthy && isCertain),
    failuresInRow,
    answer,
  };
}

/** Time between two probes of a worker that is healthy, and of one that is not. */
export type ProbePauses = { readonly healthProbeMs: number; readonly healthProbeStartMs: number };

/** Time until the next probe. */
export function probePauseMs(health: Health, probedForMs: number, pauses: ProbePauses): number {
  const { wasHealthy, isHealthy, isDown, answer } = health;
  const isEager = wasHealthy
    ? !isDown && answer?.kind === "refused" // H3
    : probedForMs < HEALTH_PROBE_EAGER_FOR_MS;
  if (isEager) return HEALTH_PROBE_EAGER_MS;
  return isHealthy ? pauses.healthProbeMs : pauses.healthProbeStartMs;
}
