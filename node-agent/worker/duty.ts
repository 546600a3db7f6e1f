/** What a worker is there for. The life of its container is the same for all duties; see worker.ts. */
import type { Assignment, AssignmentOutline } from "../../src/contract/agent.ts";
import type { Entry } from "../direct/doors.ts";
import type { ServerSettings } from "../direct/server-settings.ts";
import type { WorkerCalls } from "../worker-server/worker-server.ts";
import type { Container } from "./container.ts";
import type { LifeEnd, LifeFacts } from "./life.ts";
import type { QueueDuty } from "./queue-duty.ts";
import type { Failure } from "./restart.ts";
import type { Standing } from "./standing.ts";

/** The part of a container's life that its duty knows of. */
export type DutyFacts = Pick<
  LifeFacts,
  "isRefreshing" | "needsHardStop" | "isQuiet" | "silentForMs" | "silenceLimitMs" | "isMute"
> & {
  /** What the worker has said against itself. */
  readonly complaint: string | null;
};

export interface Duty {
  /** Calls of the container to its agent. */
  readonly calls: WorkerCalls;
  /** Null for who takes no jobs. */
  readonly queue: QueueDuty | null;
  /** Null for who takes no requests. */
  readonly door: Door | null;
  facts(): DutyFacts;
  /** Why no container can be started of this assignment, as one sentence. */
  problemOf(assignment: Assignment): string | undefined;
  /** Where the server of the next container shall listen; null for none. */
  planServer(assignment: Assignment): Promise<ServerSettings | null>;
  /** Jobs that are inside the container. */
  jobIds(): readonly string[];
  /** A new container comes: nothing counts any more of the last one. */
  forget(): void;
  /** The container runs: it was started, thawed, or taken over from an earlier agent process. */
  running(): void;
  /** The container is about to be frozen. */
  freezing(): void;
  /** Nothing that it has open toward the agent counts any more: it ends, or goes on after it was frozen. */
  halt(): void;
  end(end: LifeEnd | null): void;
  /** What has no result will have none. */
  lose(reason: string): void;
  /** The agent ends, the container goes on. */
  close(): void;
  /** Something of the worker has changed. */
  changed(): void;
  /** Why a container was ended that did not exit; null when that is no failure. */
  failureOf(end: LifeEnd | null): Omit<Failure, "lastLine"> | null;
}

/** Through which requests reach a worker. */
export type Door = {
  isOpen(): boolean;
  /** Null when it is closed. */
  enter(turnOut: () => void): Entry | null;
  suspect(): void;
  refused(): void;
};

/** The worker, as its duty sees it. */
export type DutyPost = {
  readonly outline: AssignmentOutline;
  readonly container: Container;
  readonly standing: Standing;
  /** The container runs, and nothing has ended its life. */
  readonly isAlive: () => boolean;
  readonly isDraining: () => boolean;
  /** It may be given what comes: it neither drains nor shall be frozen. */
  readonly isWanted: () => boolean;
  /** `how`: by what it showed that it is, as it continues "it". */
  readonly becomeReady: (how: string) => void;
  /** `isWithdrawn`: it takes nothing from this moment on. */
  readonly onChange: (isWithdrawn?: boolean) => void;
};
