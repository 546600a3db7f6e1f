import type { FinalState } from "../../domain/jobs/job-machine.ts";

/**
 * How a request ended; times are epoch ms.
 * completed: the worker's answer went through to its end, whatever its status; a WebSocket was closed.
 * failed: the worker or its host refused it or broke off, or a body was too large.
 * timed_out: no worker came, or the worker did not answer, in time. cancelled: the client is gone.
 */
export type RequestEnd = {
  readonly outcome: FinalState;
  readonly receivedAt: number;
  /** When a worker got it; null when none did. */
  readonly startedAt: number | null;
  readonly endedAt: number;
};
