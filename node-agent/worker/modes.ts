import type { WorkerMode, WorkerContext } from "./mode.ts";
import { QueueMode, type QueueModeOptions } from "./queue/queue-mode.ts";
import { LoadBalancedMode, type LoadBalancedModeOptions } from "./load-balancing/load-balanced-mode.ts";

export type ModeOptions = QueueModeOptions & LoadBalancedModeOptions;

/** What a worker is there for, by the type of its endpoint. */
export function createMode(worker: WorkerContext, options: ModeOptions): WorkerMode {
  return worker.outline.type === "LB"
    ? new LoadBalancedMode(worker, options)
    : new QueueMode(worker, options);
}
