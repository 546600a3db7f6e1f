import { AGENT_HOLD_MAX_MS } from "../../src/contract/limits.ts";
import { LINK_BEAT_MS } from "../../src/link/link-messages.ts";
import { TUNNEL_RENEWAL_MS, TUNNEL_RESUME_MS } from "../../src/tunnel/tunnel-messages.ts";

/** Pause between two health probes of a worker. */
export const HEALTH_PROBE_MS = 5_000;

/** The waits of the agent; tests shorten some of them. */
export type Timing = {
  /** Longest time that a job poll or stop poll of a worker is held. */
  readonly pollHoldMs: number;
  /** The same while the worker drains, so that it notices its SIGTERM soon. */
  readonly drainPollHoldMs: number;
  /** Wait before an error reply, because workers ask again at once. */
  readonly errorDelayMs: number;
  /** Time for a worker to send a body. */
  readonly bodyLimitMs: number;
  readonly stopGraceMs: number;
  /** Time from the telling of a stop to the look whether its handler has ended. */
  readonly stopCheckMs: number;
  /**
   * Time from its delivery after which a job has surely begun; the Python SDK begins one within 100 ms. A worker
   * ignores the stop of a job that has not begun, so the stop is sent again.
   */
  readonly begunAfterMs: number;
  readonly drainGraceMs: number;
  /** Time between two looks at the health of a worker that is healthy, and of one that is not. */
  readonly healthProbeMs: number;
  readonly healthProbeStartMs: number;
  /** Time for the requests of a worker that should not run any more to end. */
  readonly requestGraceMs: number;
  /** Time without a server on its port after which it is looked for on others. */
  readonly portHintAfterMs: number;
  /** Time for what an ended worker sent last to be read. */
  readonly exitSettleMs: number;
  readonly restartBaseMs: number;
  readonly restartCapMs: number;
  /** A container that the runtime does not remove occupies its GPUs: it is tried again at least this often. */
  readonly removeRetryCapMs: number;
  /** Time in which a worker without jobs may have no poll open. */
  readonly silenceLimitMs: number;
  /** A worker that stayed ready for so long starts its failures from zero. */
  readonly healthyMs: number;
  /** Hold that the agent requests of the edge when nothing else happens. */
  readonly edgeHoldMs: number;
  /** Time beyond the hold after which a call to the edge is given up. */
  readonly edgeSlackMs: number;
  /** Time after which the upload of a large result is given up and begun again. */
  readonly edgeUploadMs: number;
  /** Time for the last lines of logs to reach the edge when the agent ends. */
  readonly logFlushMs: number;
  /** Time for requests that run to end when the agent ends; well within what systemd gives it. */
  readonly linkGraceMs: number;
  /** A link with requests beats this often. */
  readonly linkBeatMs: number;
  /** A link is pinged this often; one that has not answered by the next time is gone. */
  readonly linkPingMs: number;
  /** Time after which a link is tried again that the edge does not want. */
  readonly linkRefusedMs: number;
  /** So long a tunnel is kept without a connection. */
  readonly tunnelResumeMs: number;
  /** A connection of a tunnel is closed after this time, and its client resumes the tunnel. */
  readonly tunnelRenewalMs: number;
  /** Time for the image of a pod to start sshd and Jupyter itself. */
  readonly podServicesMs: number;
  /** Time between two looks at what the container of a pod uses. */
  readonly podUseMs: number;
  readonly edgeRetryBaseMs: number;
  readonly edgeRetryCapMs: number;
};

export const TIMING: Timing = {
  pollHoldMs: 25_000,
  drainPollHoldMs: 1_000,
  errorDelayMs: 2_000,
  bodyLimitMs: 30_000,
  stopGraceMs: 5_000,
  stopCheckMs: 1_250,
  begunAfterMs: 250,
  drainGraceMs: 10_000,
  healthProbeMs: HEALTH_PROBE_MS,
  healthProbeStartMs: 1_000,
  requestGraceMs: 360_000,
  portHintAfterMs: 3_000,
  exitSettleMs: 100,
  restartBaseMs: 1_000,
  restartCapMs: 60_000,
  removeRetryCapMs: 10_000,
  silenceLimitMs: 180_000,
  healthyMs: 60_000,
  edgeHoldMs: AGENT_HOLD_MAX_MS,
  edgeSlackMs: 20_000,
  edgeUploadMs: 5 * 60_000,
  logFlushMs: 2_000,
  linkGraceMs: 30_000,
  linkBeatMs: LINK_BEAT_MS,
  linkPingMs: 10_000,
  linkRefusedMs: 60_000,
  tunnelResumeMs: TUNNEL_RESUME_MS,
  tunnelRenewalMs: TUNNEL_RENEWAL_MS,
  podServicesMs: 8_000,
  podUseMs: 15_000,
  edgeRetryBaseMs: 250,
  edgeRetryCapMs: 15_000,
};

/** Whole ms since a reading of `performance.now()`, a clock that is never set. */
export function ageMs(at: number): number {
  return Math.max(0, Math.round(performance.now() - at));
}
