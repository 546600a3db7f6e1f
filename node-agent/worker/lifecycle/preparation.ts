/**
 * What precedes a start of a worker: that it is known what to start, that no problem prevents it, and that
 * its image, and the files of its app, are on this host.
 */
import type { Assignment, StartStep } from "../../../src/contract/agent/agent.ts";
import type { AgentLog } from "../../core/log.ts";
import type { PrepareProgress } from "../../runtime/interface/runtime.ts";
import type { Container } from "./container.ts";
import { serverProblem } from "./server-settings.ts";
import { retryDelayMs } from "../../../src/std/waiting.ts";
import { type RestartPolicy, withRetry } from "./restart.ts";
import type { WorkerStatus } from "./worker-status.ts";
import type { Notifier } from "../../core/notifier.ts";

const STEPS: Readonly<Record<PrepareProgress["what"], readonly [StartStep, StartStep]>> = {
  image: ["pullStarted", "pullEnded"],
  files: ["filesStarted", "filesEnded"],
  models: ["modelsStarted", "modelsEnded"],
};

export type PreparationOptions = {
  readonly workerId: string;
  readonly container: Container;
  readonly status: WorkerStatus;
  readonly notifier: Notifier;
  readonly log: AgentLog;
  readonly policy: RestartPolicy;
  readonly isDraining: () => boolean;
  /** Another worker, which is about to end, still runs on GPUs of this one. */
  readonly gpuHolder: () => string | undefined;
};

export class Preparation {
  readonly #options: PreparationOptions;
  /** The edge has sent something new since the last attempt to prepare a start. */
  #isRenewed = false;
  /** The start waits for a problem to be solved. */
  #isWithheld = false;
  #warning: string | undefined;

  constructor(options: PreparationOptions) {
    this.#options = options;
  }

  /** Takes the latest assignment; it applies from the next start on. */
  setAssignment(assignment: Assignment): void {
    const { container, notifier } = this.#options;
    if (!container.setAssignment(assignment)) return;
    this.#isRenewed = true;
    notifier.notify();
  }

  /** The warning about the image although it was there. */
  get warning(): string | undefined {
    return this.#warning;
  }

  /** Gets image and files onto this host, however often that fails. False when the worker should not start. */
  async prepare(signal: AbortSignal): Promise<boolean> {
    const { workerId, container, status, notifier, log, policy, isDraining } = this.#options;
    for (let failures = 1; await this.untilStartable(signal); failures += 1) {
      this.#isRenewed = false;
      const aborting = new AbortController();
      const preparing = container.prepare((progress) => this.#progressed(progress), aborting.signal);
      const outcome = await this.#unlessDrained(preparing, signal);
      aborting.abort();
      if (outcome === "aborted") return false;
      if (outcome.kind === "prepared") {
        this.#warning = outcome.warning;
        if (outcome.warning !== undefined) this.#reportWarning(outcome.warning);
        return !isDraining();
      }
      const delayMs = retryDelayMs(failures, policy);
      status.recordFailures(failures);
      log.warn("worker_prepare_failed", { workerId, reason: outcome.detail });
      this.#pulling(withRetry(outcome.detail, "tries", delayMs));
      await notifier.waitUntil(delayMs, () => isDraining() || this.#isRenewed || signal.aborted);
      if (this.#isRenewed) failures = 0;
    }
    return false;
  }

  /** Waits until it is known what to start and no problem prevents it. False when the worker should not start. */
  async untilStartable(signal: AbortSignal): Promise<boolean> {
    const { container, status, notifier, isDraining } = this.#options;
    while (!isDraining() && !signal.aborted) {
      const { assignment } = container;
      const problem = assignment && (assignment.problem ?? serverProblem(assignment));
      if (assignment && problem === undefined) {
        if (this.#isWithheld) status.setState("starting");
        this.#isWithheld = false;
        return true;
      }
      if (problem !== undefined) this.#withhold(problem);
      await notifier.wait(null);
    }
    return false;
  }

  /** Waits for workers that Fleet has given up to leave the GPUs of this one. False when the worker should not start. */
  async untilGpusAreFree(signal: AbortSignal): Promise<boolean> {
    const { status, notifier, isDraining, gpuHolder } = this.#options;
    for (let holder = gpuHolder(); holder !== undefined; holder = gpuHolder()) {
      if (isDraining() || signal.aborted) return false;
      status.setState("starting", `waits for worker ${holder} to leave the GPU`);
      await notifier.wait(null);
    }
    return true;
  }

  #withhold(problem: string): void {
    const { workerId, status, log } = this.#options;
    if (this.#isWithheld && status.detail === problem) return;
    this.#isWithheld = true;
    log.warn("worker_start_withheld", { workerId, reason: problem });
    status.setState("unhealthy", problem);
  }

  #progressed({ what, detail }: PrepareProgress): void {
    const { startTimes } = this.#options.status;
    const [started, ended] = STEPS[what];
    const isFirst = !startTimes.has(started);
    startTimes.record(detail === null ? ended : started);
    if (what === "image" && detail === null) this.#logPull("image_pull_ended");
    else if (what === "image" && isFirst) this.#logPull("image_pull_started");
    if (detail !== null) this.#pulling(detail);
  }

  #logPull(event: "image_pull_started" | "image_pull_ended"): void {
    const { workerId, container, log } = this.#options;
    log.info(event, { workerId, image: container.assignment?.imageName ?? "" });
  }

  #reportWarning(warning: string): void {
    const { workerId, status, log, isDraining } = this.#options;
    log.warn("image_noted", { workerId, note: warning });
    if (!isDraining()) status.setState("starting", warning);
  }

  #pulling(detail: string): void {
    const { container, status, isDraining } = this.#options;
    if (!container.isStarted && !isDraining()) status.setState("pulling", detail);
  }

  /** The caller need not wait until aborted work has ended. */
  async #unlessDrained<T>(work: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> {
    const { notifier, isDraining } = this.#options;
    let isOver = false;
    void work.finally(() => {
      isOver = true;
      notifier.notify();
    });
    while (!isOver) {
      if (isDraining() || signal.aborted) return "aborted";
      await notifier.wait(null);
    }
    return work;
  }
}
