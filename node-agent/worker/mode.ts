/** What a worker is there for. The life of its container is the same for all duties; see worker.ts. */
import type { Assignment, AssignmentOutline } from "../../src/contract/agent/agent.ts";
import type { Admission } from "./admission.ts";
import type { ServerSettings } from "./load-balancing/server-settings.ts";
import type { WorkerCalls } from "../worker-server/worker-server.ts";
import type { Container } from "./container.ts";
import type { LifeEnd, LifeFacts } from "./lifecycle/worker-life.ts";
import type { QueueMode } from "./queue/queue-mode.ts";
import type { Failure } from "./lifecycle/restart.ts";
import type { WorkerStatus } from "./lifecycle/worker-status.ts";

/** The part of a container's life that its duty knows of. */
export type ModeFacts = Pick<
  LifeFacts,
  "isRefreshing" | "needsHardStop" | "isIdle" | "silentForMs" | "silenceLimitMs" | "hasLostResults"
> & {
  /** What the worker has said against itself. */
  readonly unhealthyReason: string | null;
};

export interface WorkerMode {
  /** Calls of the container to its agent. */
  readonly calls: WorkerCalls;
  /** Null for who takes no jobs. */
  readonly queue: QueueMode | null;
  /** Null for who takes no requests. */
  readonly gate: AdmissionGate | null;
  facts(): ModeFacts;
  /** Why no container can be started of this assignment, as one sentence. */
  problemOf(assignment: Assignment): string | undefined;
  /** Where the server of the next container shall listen; null for none. */
  planServer(assignment: Assignment): Promise<ServerSettings | null>;
  /** Jobs that are inside the container. */
  jobIds(): readonly string[];
  /** A new container comes: nothing counts any more of the last one. */
  reset(): void;
  /** The container runs: it was started, thawed, or taken over from an earlier agent process. */
  onRunning(): void;
  /** The container is about to be frozen. */
  beforeFreeze(): void;
  /** Nothing that it has open toward the agent counts any more: it ends, or goes on after it was frozen. */
  halt(): void;
  end(end: LifeEnd | null): void;
  /** What has no result will have none. */
  loseJobs(reason: string): void;
  /** The agent ends, the container goes on. */
  close(): void;
  /** Something of the worker has changed. */
  onChanged(): void;
  /** Why a container was ended that did not exit; null when that is no failure. */
  failureOf(end: LifeEnd | null): Omit<Failure, "lastLine"> | null;
}

/** Through which requests reach a worker. */
export type AdmissionGate = {
  isOpen(): boolean;
  /** Null when it is closed. */
  admit(evict: () => void): Admission | null;
  connectionFailed(): void;
  connectionRefused(): void;
};

/** The worker, as its duty sees it. */
export type WorkerContext = {
  readonly outline: AssignmentOutline;
  readonly container: Container;
  readonly status: WorkerStatus;
  /** The container runs, and nothing has ended its life. */
  readonly isAlive: () => boolean;
  readonly isDraining: () => boolean;
  /** It may be given what comes: it neither drains nor shall be frozen. */
  readonly acceptsWork: () => boolean;
  /** `how`: by what it showed that it is, as it continues "it". */
  readonly markReady: (how: string) => void;
  /** `isWithdrawn`: it takes nothing from this moment on. */
  readonly onChange: (isWithdrawn?: boolean) => void;
};
