/** What a worker's mode and the life of its container know of each other; see worker.ts. */
import type { AssignmentOutline } from "../../../src/contract/agent/agent.ts";
import type { Container } from "./container.ts";
import type { LifeFacts } from "./worker-life.ts";
import type { WorkerStatus } from "./worker-status.ts";

/** What a mode contributes to the decision whether the container lives on. */
export type ModeFacts = Pick<
  LifeFacts,
  "isRefreshing" | "needsHardStop" | "isIdle" | "silentForMs" | "silenceLimitMs" | "hasLostResults"
> & {
  /** Why the worker has reported itself unhealthy; null when it has not. */
  readonly unhealthyReason: string | null;
};

/** The worker, as its mode sees it. */
export type WorkerContext = {
  readonly outline: AssignmentOutline;
  readonly container: Container;
  readonly status: WorkerStatus;
  /** The container runs, and nothing has ended its life. */
  readonly isAlive: () => boolean;
  readonly isDraining: () => boolean;
  /** It neither drains nor is to be frozen, so it may get jobs or requests. */
  readonly acceptsWork: () => boolean;
  /** `how`: what has shown that it is ready, to be read after "it". */
  readonly markReady: (how: string) => void;
  /** `isWithdrawn`: it takes no work from this moment on. */
  readonly onChange: (isWithdrawn?: boolean) => void;
};
