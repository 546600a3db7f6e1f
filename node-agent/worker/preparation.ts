/**
 * What comes before a start of a worker: that it is known what to start, that nothing speaks against it, and that
 * its image, and the files of its app, are on this host.
 */
import type { Assignment } from "../../src/contract/agent.ts";
import type { AgentLog } from "../log.ts";
import type { Container } from "./container.ts";
import { restartDelayMs, type RestartPolicy, withNextTry } from "./restart.ts";
import type { Standing } from "./standing.ts";
import type { Wake } from "./wake.ts";

export type PreparationOptions = {
  readonly workerId: string;
  readonly container: Container;
  readonly standing: Standing;
  readonly wake: Wake;
  readonly log: AgentLog;
  readonly policy: RestartPolicy;
  readonly isDraining: () => boolean;
  /** Why no container can be started of the assignment. */
  readonly problemOf: (assignment: Assignment) => string | undefined;
};

export class Preparation {
  readonly #options: PreparationOptions;
  /** The edge has said something new since the last try to prepare a start. */
  #isRenewed = false;
  /** The start waits for a problem to be solved. */
  #isWithheld = false;
  #note: string | undefined;

  constructor(options: PreparationOptions) {
    this.#options = options;
  }

  /** The edge says anew what the worker is made of; a container that runs goes on as it is. */
  renew(assignment: Assignment): void {
    const { container, wake } = this.#options;
    if (!container.renew(assignment)) return;
    this.#isRenewed = true;
    wake.wake();
  }

  /** What there was to say of the image although it was there. */
  get note(): string | undefined {
    return this.#note;
  }

  /** Gets image and files onto this host, however often that fails. False when the worker shall not start. */
  async prepare(signal: AbortSignal): Promise<boolean> {
    const { workerId, container, standing, wake, log, policy, isDraining } = this.#options;
    const { startTimes } = standing;
    for (let failures = 1; await this.untilStartable(signal); failures += 1) {
      this.#isRenewed = false;
      const calledOff = new AbortController();
      const preparing = container.prepare(({ what, detail }) => {
        if (what === "image") this.#notePull();
        this.#pulling(detail);
      }, calledOff.signal);
      const outcome = await this.#unlessDrained(preparing, signal);
      calledOff.abort();
      if (outcome === "called_off") return false;
      if (outcome.kind === "prepared") {
        if (startTimes.has("pullStarted")) {
          startTimes.note("pullEnded");
          this.#tellOfPull("image_pull_ended");
        }
        this.#note = outcome.note;
        if (outcome.note !== undefined) this.#tell(outcome.note);
        return !isDraining();
      }
      const delayMs = restartDelayMs(failures, policy);
      standing.failed(failures);
      log.warn("worker_prepare_failed", { workerId, reason: outcome.detail });
      this.#pulling(withNextTry(outcome.detail, "tries", delayMs));
      await wake.pause(delayMs, () => isDraining() || this.#isRenewed || signal.aborted);
      if (this.#isRenewed) failures = 0;
    }
    return false;
  }

  /** Waits until it is known what to start and nothing speaks against it. False when the worker shall not start. */
  async untilStartable(signal: AbortSignal): Promise<boolean> {
    const { container, standing, wake, isDraining, problemOf } = this.#options;
    while (!isDraining() && !signal.aborted) {
      const { assignment } = container;
      const problem = assignment && (assignment.problem ?? problemOf(assignment));
      if (assignment && problem === undefined) {
        if (this.#isWithheld) standing.become("starting");
        this.#isWithheld = false;
        return true;
      }
      if (problem !== undefined) this.#withhold(problem);
      await wake.wait(null);
    }
    return false;
  }

  #withhold(problem: string): void {
    const { workerId, standing, log } = this.#options;
    if (this.#isWithheld && standing.detail === problem) return;
    this.#isWithheld = true;
    log.warn("worker_start_withheld", { workerId, reason: problem });
    standing.become("unhealthy", problem);
  }

  #notePull(): void {
    const { startTimes } = this.#options.standing;
    if (!startTimes.has("pullStarted")) this.#tellOfPull("image_pull_started");
    startTimes.note("pullStarted");
  }

  #tellOfPull(event: "image_pull_started" | "image_pull_ended"): void {
    const { workerId, container, log } = this.#options;
    log.info(event, { workerId, image: container.assignment?.imageName ?? "" });
  }

  #tell(note: string): void {
    const { workerId, standing, log, isDraining } = this.#options;
    log.warn("image_noted", { workerId, note });
    if (!isDraining()) standing.become("starting", note);
  }

  #pulling(detail: string): void {
    const { container, standing, isDraining } = this.#options;
    if (!container.isStarted && !isDraining()) standing.become("pulling", detail);
  }

  /** Nobody has to wait until what was called off has ended. */
  async #unlessDrained<T>(work: Promise<T>, signal: AbortSignal): Promise<T | "called_off"> {
    const { wake, isDraining } = this.#options;
    let isOver = false;
    void work.finally(() => {
      isOver = true;
      wake.wake();
    });
    while (!isOver) {
      if (isDraining() || signal.aborted) return "called_off";
      await wake.wait(null);
    }
    return work;
  }
}
