/** How many workers an endpoint wants: sample -> decide -> apply, this being the decision. */
import type { EndpointConfig } from "../contract/endpoint.ts";

export type ScaleSample = {
  readonly normalQueued: number;
  readonly lowQueued: number;
  readonly running: number;
  /** Workers that the endpoint wants now. */
  readonly wanted: number;
  /** When the last work ended; null while there is work. */
  readonly idleSinceAt: number | null;
  readonly now: number;
};

export type ScaleDecision = {
  readonly wanted: number;
  /** When the decision must be made again though nothing happens; null for never. */
  readonly reviewAt: number | null;
};

type ScaleConfig = Pick<EndpointConfig, "workersMin" | "workersMax" | "idleTimeoutSeconds">;

/**
 * One worker while there is work, none (or workersMin) once there was none for idleTimeout.
 * Low-priority jobs keep a worker that is there, but never ask for one.
 */
export function decideWorkers(sample: ScaleSample, config: ScaleConfig): ScaleDecision {
  const clamp = (workers: number) => Math.min(Math.max(workers, config.workersMin), config.workersMax);

  if (sample.normalQueued + sample.running > 0) {
    return { wanted: clamp(Math.max(1, sample.wanted)), reviewAt: null };
  }
  if (sample.lowQueued > 0) return { wanted: clamp(sample.wanted), reviewAt: null };

  const leaveAt = (sample.idleSinceAt ?? sample.now) + config.idleTimeoutSeconds * 1_000;
  if (sample.now >= leaveAt || sample.wanted <= config.workersMin) {
    return { wanted: clamp(0), reviewAt: null };
  }
  return { wanted: clamp(sample.wanted), reviewAt: leaveAt };
}
