import { errorMessage, ignoreFailure } from "../../../src/std/errors.ts";
import { randomBytes } from "node:crypto";
import type { Assignment, AssignmentOutline, Gpu } from "../../../src/contract/agent/agent.ts";
import { readServerSettings, serverVariables } from "./server-settings.ts";
import type { Journal, ServerSettings, WorkerRecord } from "../../journal/journal.ts";
import type { AgentLog } from "../../core/log.ts";
import type { WorkerLogs } from "../../logs/worker-logs.ts";
import type {
  PrepareOutcome,
  PrepareProgress,
  Runtime,
  WorkerExit,
  WorkerSpec,
} from "../../runtime/interface/runtime.ts";
import type { Timing } from "../../core/timing.ts";
import type { PodStore } from "../../pods/pod-store.ts";
import type { WorkerFailure } from "./restart.ts";
import type { Notifier } from "../../core/notifier.ts";

export type ContainerOptions = {
  readonly runtime: Runtime;
  readonly journal: Journal;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly logs: WorkerLogs;
  readonly pods: PodStore;
  /** The GPUs of this host. */
  readonly gpus: () => readonly Gpu[];
  readonly environmentOf: (assignment: Assignment, token: string) => Record<string, string>;
};

/** The record of a container that runs already, from an earlier agent process. */
export type AdoptedWorker = WorkerRecord & { readonly isFrozen: boolean };

/** Time for the runtime to report a requested exit, before the next start. */
const EXIT_EVENT_LIMIT_MS = 2_000;

const CLEAN_UP_FAILED =
  "its last container could not be removed: the runtime does not answer, or refuses; see the agent's log";

/** The container of one worker: at most one at a time, each with its own token. */
export class Container {
  readonly #outline: AssignmentOutline;
  readonly #options: ContainerOptions;
  readonly #notifier: Notifier;
  /** What the next start uses; not known for an adopted worker until the edge has sent it. */
  #assignment: Assignment | undefined;
  #token: string;
  #isRunning: boolean;
  /** An earlier agent process has started it. */
  #isAdopted: boolean;
  /** Its start was not reported yet. */
  #isStarting = false;
  /** What came before could not be cleared away. */
  #needsCleanUp = false;
  #wasReady: boolean;
  #isFrozen: boolean;
  #server: ServerSettings | null;
  /** What a pod gets of this host; undefined for other workers, and before its first start by this agent. */
  #pod: WorkerSpec["pod"];
  #exit: WorkerExit | null = null;
  #startedAt = performance.now();
  #readyAt: number | null;

  constructor(
    outline: AssignmentOutline,
    options: ContainerOptions,
    notifier: Notifier,
    record: AdoptedWorker | undefined,
  ) {
    this.#outline = outline;
    this.#options = options;
    this.#notifier = notifier;
    this.#token = record?.token ?? newToken();
    this.#isRunning = this.#isAdopted = record !== undefined;
    this.#wasReady = record?.wasReady ?? false;
    this.#isFrozen = record?.isFrozen ?? false;
    this.#server = record?.server ?? null;
    this.#readyAt = this.#wasReady ? this.#startedAt : null;
  }

  get token(): string {
    return this.#token;
  }

  /** It was started, and its end was not dealt with yet. */
  get isStarted(): boolean {
    return this.#isRunning;
  }

  /** Also one that is frozen, and one that could not be cleared away, which may still run. */
  get usesGpus(): boolean {
    return this.#isRunning || this.#needsCleanUp;
  }

  get isAlive(): boolean {
    return this.#isRunning && this.#exit === null;
  }

  get wasReady(): boolean {
    return this.#wasReady;
  }

  /** It is frozen, or about to be. */
  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** Where its own server listens; null for none. */
  get server(): ServerSettings | null {
    return this.#server;
  }

  get exit(): WorkerExit | null {
    return this.#exit;
  }

  get assignment(): Assignment | undefined {
    return this.#assignment;
  }

  runsForMs(): number {
    return performance.now() - this.#startedAt;
  }

  readyForMs(): number {
    return this.#readyAt === null ? 0 : performance.now() - this.#readyAt;
  }

  // Input from outside

  /** Takes the assignment for the next start. False when nothing has changed. */
  setAssignment(assignment: Assignment): boolean {
    if (assignment.isSuperseded && this.#assignment) return false; // it continues unchanged
    const isNew = JSON.stringify(assignment) !== JSON.stringify(this.#assignment);
    this.#assignment = assignment;
    // Its token is in addresses that workers log.
    this.#options.logs.mask(this.#outline, [...(assignment.masked ?? []), this.#token]);
    // Not before it is known what must not show in its output.
    if (this.#isAdopted && this.#isRunning) this.#options.logs.resume(this.#outline);
    return isNew;
  }

  recordExit(exit: WorkerExit): void {
    if (this.#isRunning) this.#exit = exit;
  }

  markReady(): void {
    this.#logStarted(); // it may ask for jobs before the runtime has reported that it runs
    this.#wasReady = true;
    this.#readyAt = performance.now();
    try {
      this.#save();
    } catch (error) {
      // The worker is ready all the same; only an agent that adopts it will call it starting for a moment.
      this.#options.log.error("journal_failed", {
        workerId: this.#outline.workerId,
        reason: errorMessage(error),
      });
    }
  }

  // Starting

  async prepare(
    onProgress: (progress: PrepareProgress) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    try {
      return await this.#options.runtime.prepare(this.#spec(), onProgress, signal);
    } catch (error) {
      return { kind: "failed", detail: errorMessage(error) };
    }
  }

  /** Starts a new container; resolves to why it could not, or to null. */
  async launch(): Promise<WorkerFailure | null> {
    if (this.#needsCleanUp) await this.cleanUp();
    if (this.#needsCleanUp) return { kind: "start_refused", reason: CLEAN_UP_FAILED, lastLine: undefined };
    this.#token = newToken(); // what is left of an earlier container cannot speak for this one
    this.#options.logs.mask(this.#outline, [this.#token]);
    this.#wasReady = false;
    this.#readyAt = null;
    this.#exit = null;
    this.#startedAt = performance.now();
    this.#isRunning = true;
    this.#isAdopted = false;
    this.#isStarting = true;
    try {
      this.#server = await this.#planServer(this.#requireAssignment());
      this.#pod = await this.#preparePod(this.#requireAssignment());
      this.#save();
      await this.#options.runtime.start(this.#spec());
      this.#options.logs.begin(this.#outline);
      this.#logStarted();
      return null;
    } catch (error) {
      this.#isRunning = false;
      this.#isStarting = false;
      this.#needsCleanUp = true; // the runtime may have started it all the same
      if (this.#outline.type === "POD") this.#options.pods.forgetPorts(this.#outline.workerId);
      return { kind: "start_refused", reason: errorMessage(error), lastLine: undefined };
    }
  }

  /** Where the server of the next container listens; null for a queue worker, which has none. */
  async #planServer({ type, env }: Assignment): Promise<ServerSettings | null> {
    if (type !== "LB") return null;
    const read = readServerSettings(env);
    if (read.kind === "problem") throw new Error(read.problem);
    return { ...read.settings, ...(await this.#options.runtime.portsFor(read.settings)) };
  }

  async #preparePod({ pod }: Assignment): Promise<WorkerSpec["pod"]> {
    return pod && (await this.#options.pods.prepare(this.#outline.workerId, pod));
  }

  #logStarted(): void {
    if (!this.#isStarting) return;
    this.#isStarting = false;
    this.#options.log.info("worker_started", { workerId: this.#outline.workerId });
  }

  // Freezing

  /** Holds the container where it is. */
  async freeze(): Promise<void> {
    this.#isFrozen = true;
    await this.#options.runtime.freeze(this.#outline.workerId);
  }

  /** Resumes it; like a container that was just started, it must show that it is ready. */
  async thaw(): Promise<void> {
    this.#isFrozen = false;
    this.#wasReady = false;
    this.#readyAt = null;
    this.#startedAt = performance.now();
    this.#save();
    await this.#options.runtime.thaw(this.#outline.workerId);
  }

  // Ending

  /** SIGTERM and the drain grace. What goes wrong shows again when it is cleared away. */
  async terminate(): Promise<void> {
    const { runtime, timing } = this.#options;
    await runtime.stop(this.#outline.workerId, timing.drainGraceMs).catch(ignoreFailure);
  }

  /** Kills what still runs and removes it; the next start finds a clean place. */
  async cleanUp(): Promise<void> {
    const { runtime, log, logs } = this.#options;
    const { workerId } = this.#outline;
    try {
      await runtime.stop(workerId, 0);
      if (this.#isRunning) await this.#waitForExit();
      await logs.finish(workerId);
      await runtime.remove(workerId);
      this.#needsCleanUp = false;
    } catch (error) {
      this.#needsCleanUp = true;
      log.error("worker_remove_failed", { workerId, reason: errorMessage(error) });
    }
    this.#isRunning = false;
    this.#isFrozen = false;
  }

  /** Leaves no trace of the worker. False when the runtime refuses. */
  async remove(): Promise<boolean> {
    const { runtime, journal, log } = this.#options;
    const { workerId } = this.#outline;
    try {
      await runtime.remove(workerId);
      journal.removeWorker(workerId);
      return true;
    } catch (error) {
      log.error("worker_remove_failed", { workerId, reason: errorMessage(error) });
      return false;
    }
  }

  /** The image that it runs, by its content; null when that cannot be determined. */
  imageDigest(): Promise<string | null> {
    return this.#options.runtime.imageDigest(this.#outline.workerId).catch(() => null);
  }

  async lastLine(): Promise<string | undefined> {
    const { runtime, logs } = this.#options;
    const { workerId } = this.#outline;
    const last = (await runtime.lastLines(workerId, 1).catch(() => [])).at(-1);
    return last === undefined ? undefined : logs.masked(workerId, last);
  }

  /** So that the news of this container's end is not taken for the end of its successor. */
  async #waitForExit(): Promise<void> {
    await this.#notifier.waitUntil(EXIT_EVENT_LIMIT_MS, () => this.#exit !== null);
  }

  #save(): void {
    const { journal } = this.#options;
    journal.saveWorker({
      assignment: this.#outline,
      token: this.#token,
      wasReady: this.#wasReady,
      server: this.#server,
    });
  }

  #requireAssignment(): Assignment {
    if (this.#assignment === undefined) throw new Error("The edge has not described this worker yet.");
    return this.#assignment;
  }

  /** Parts of cards have names of their own. */
  #gpuDevices({ gpuIndexes }: Assignment): Pick<WorkerSpec, "gpuDevices"> {
    const names = new Map(this.#options.gpus().map(({ index, migUuid }) => [index, migUuid]));
    const hasParts = gpuIndexes.some((index) => names.get(index) !== undefined);
    return hasParts ? { gpuDevices: gpuIndexes.map((index) => names.get(index) ?? String(index)) } : {};
  }

  #spec(): WorkerSpec {
    const assignment = this.#requireAssignment();
    const env = this.#options.environmentOf(assignment, this.#token);
    const spec = { ...assignment, ...this.#gpuDevices(assignment), pod: this.#pod };
    if (this.#server === null) return { ...spec, env };
    return { ...spec, env: { ...env, ...serverVariables(this.#server) }, serverPorts: this.#server };
  }
}

function newToken(): string {
  return randomBytes(24).toString("base64url");
}
