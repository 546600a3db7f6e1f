/**
 * The worker of one endpoint of a preview: a container that is started again when it ends, as a host does it.
 *
 * P1  Until it was ready once, its end is that of the preview.
 * P2  A container that takes the place of another one has its name and, where nobody else has taken it, its port.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { AgentLog } from "../../../node-agent/core/log.ts";
import { restartDelayMs, restartPolicy } from "../../../node-agent/worker/lifecycle/restart.ts";
import { probeHealth, type ServerLocation } from "../../../node-agent/worker/load-balancing/health-probe.ts";
import { IdleCalls, type WorkerCalls } from "../../../node-agent/worker-server/poll.ts";
import type { ServerSettings } from "../../../node-agent/journal/journal.ts";
import { type Timing, TIMING } from "../../../node-agent/core/timing.ts";
import type { WorkerSession } from "../../../node-agent/worker-server/worker-server.ts";
import type { WorkerCounts } from "../../../src/contract/job.ts";
import { HEALTH_PROBE_EAGER_MS, HEALTH_PROBE_MS } from "../../../src/contract/limits.ts";
import { Failure } from "../../core/failure.ts";
import { PreviewQueue } from "../queue/preview-queue.ts";
import type { WorkerPlan } from "../worker-plan.ts";
import type { ContainerMaker } from "./container-maker.ts";
import type { PreviewContainer } from "./preview-container.ts";
import { readLine } from "./printed-line.ts";
import { QueueWork } from "./queue-work.ts";

export const READY_LIMIT_MS = 60_000;
const LINES_SHOWN = 20;
const STOP_GRACE_SECONDS = 5;
const LOOPBACK = "127.0.0.1";

export type PreviewWorkerOptions = {
  readonly plan: WorkerPlan;
  readonly maker: ContainerMaker;
  readonly onLine: (line: string) => void;
  /** Something that its person should know. */
  readonly onNotice: (text: string) => void;
  readonly log: AgentLog;
  readonly timing?: Timing;
};

type State = "starting" | "ready" | "failing";

export class PreviewWorker implements WorkerSession {
  readonly id: string;
  readonly token = randomBytes(24).toString("base64url");
  readonly calls: WorkerCalls;
  /** Null for a load-balanced endpoint. */
  readonly queue: PreviewQueue | null;
  readonly #options: PreviewWorkerOptions;
  readonly #work: QueueWork | null;
  readonly #closing = new AbortController();
  #container: PreviewContainer | null = null;
  #state: State = "starting";
  #complaint: string | null = null;
  #isRenewed = false;
  #endsInRow = 0;
  #kept: Promise<void> = Promise.resolve();
  #place: ServerLocation | null = null;
  #onReady: () => void = () => {};

  constructor(options: PreviewWorkerOptions) {
    this.#options = options;
    const { plan, log, timing = TIMING } = options;
    this.id = plan.endpointId;
    if (plan.server !== null) {
      this.queue = this.#work = null;
      this.calls = new IdleCalls(() => timing.pollHoldMs);
      return;
    }
    const queue = new PreviewQueue({
      endpointId: plan.endpointId,
      executionTimeoutMs: plan.executionTimeoutMs,
      explainWait: (position) => ({ position, ...this.#whyWaiting() }),
      onStop: (jobId, attempt, reason) => work.stop(jobId, attempt, reason),
      onQueued: () => work.feed(),
    });
    const work = new QueueWork({
      ...{ workerId: this.id, queue, log, timing },
      onAsked: () => this.#becomeReady(),
      onUnhealthy: (reason) => void (this.#complaint = `reported itself unhealthy: ${reason}`),
      onRenew: () => this.#renew(),
    });
    this.queue = queue;
    this.#work = this.calls = work;
  }

  get name(): string {
    return this.#options.plan.name;
  }

  /** Where requests go; null for an endpoint with a queue, and while its container does not run. */
  get address(): string | null {
    return this.#place && `http://${this.#place.host}:${this.#place.port}`;
  }

  counts(): WorkerCounts {
    const none = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
    if (this.#state === "starting") return { ...none, initializing: 1 };
    if (this.#state === "failing") return { ...none, unhealthy: 1 };
    return this.#work?.isBusy ? { ...none, running: 1 } : { ...none, idle: 1, ready: 1 };
  }

  /** Starts it, and looks after it from then on. Throws a Failure when it does not become ready (P1). */
  async start(signal: AbortSignal): Promise<void> {
    const ready = new Promise<void>((resolve) => (this.#onReady = resolve));
    const container = await this.#launch();
    const tooLate = delay(READY_LIMIT_MS, undefined, { signal }).catch(() => undefined);
    const ended = container.ended();
    const end = await Promise.race([ready, ended, tooLate]);
    signal.throwIfAborted();
    if (typeof end === "string") throw await this.#failure(container, end);
    if (this.#state !== "ready") throw await this.#failure(container, this.#whyNotReady());
    this.#kept = this.#keep(ended).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#options.onNotice(wordsOf(error));
    });
  }

  /** SIGTERM to the container, and time for it to end. It is removed with the preview. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#work?.close();
    if (this.calls instanceof IdleCalls) this.calls.endPolls();
    await this.#container?.stop(STOP_GRACE_SECONDS);
    await this.#kept;
  }

  // Its life

  async #launch(): Promise<PreviewContainer> {
    this.#state = "starting";
    this.#complaint = null;
    const { plan, maker, onLine } = this.#options;
    const container = await maker.start(plan, this, this.#place);
    this.#container = container;
    void container.follow(onLine, this.#closing.signal).catch(() => undefined);
    if (plan.server !== null)
      void this.#watchHealth(container, await this.#findPlace(container, plan.server));
    return container;
  }

  async #findPlace(container: PreviewContainer, server: ServerSettings): Promise<ServerLocation> {
    const before = this.address;
    this.#place = {
      host: LOOPBACK,
      port: await container.publishedPort(server.port),
      healthPort: await container.publishedPort(server.healthPort),
      healthPath: server.healthPath,
    };
    if (before !== null && before !== this.address)
      this.#options.onNotice(`${this.name} is at ${this.address} from now on: its port was taken meanwhile.`);
    return this.#place;
  }

  /** Starts it again each time that it ends. */
  async #keep(firstEnd: Promise<string>): Promise<void> {
    let readySince = performance.now();
    for (let end = firstEnd; ;) {
      const reason = await end;
      if (this.#closing.signal.aborted) return;
      await this.#restAfter(this.#complaint ?? reason, performance.now() - readySince);
      await this.#container?.remove();
      const next = await this.#launch();
      readySince = performance.now();
      end = next.ended();
      if (this.#closing.signal.aborted) await next.stop(0);
    }
  }

  /** The longer, the more often it has ended in a row; not at all where its end was wanted. */
  async #restAfter(reason: string, ranForMs: number): Promise<void> {
    const { timing = TIMING, onNotice } = this.#options;
    const policy = restartPolicy(timing);
    const wasRenewed = this.#isRenewed;
    this.#isRenewed = false;
    this.#work?.lose(`its container ${reason}`);
    if (wasRenewed) return;
    this.#endsInRow = ranForMs >= policy.healthyMs ? 1 : this.#endsInRow + 1;
    this.#state = "failing";
    onNotice(`The container of ${this.name} ${reason}; it is started again.`);
    const pauseMs = restartDelayMs(this.#endsInRow, policy);
    await delay(pauseMs, undefined, { signal: this.#closing.signal });
  }

  async #watchHealth(container: PreviewContainer, place: ServerLocation): Promise<void> {
    const { signal } = this.#closing;
    while (this.#container === container && !signal.aborted) {
      const answer = await probeHealth(place, signal);
      if (this.#container !== container || signal.aborted) return;
      const isHealthy = answer.kind === "status" && answer.status === 200;
      if (isHealthy) this.#becomeReady();
      const pauseMs = isHealthy ? HEALTH_PROBE_MS : HEALTH_PROBE_EAGER_MS;
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #becomeReady(): void {
    this.#state = "ready";
    this.#onReady();
  }

  /** Another container takes the place of this one. */
  #renew(): void {
    if (this.#isRenewed) return;
    this.#isRenewed = true;
    void this.#container?.stop(0);
  }

  // Words

  #whyWaiting(): {
    readonly reason: "at_max_workers" | "worker_starting" | "worker_crash_looping";
    readonly detail: string;
  } {
    switch (this.#state) {
      case "ready":
        return { reason: "at_max_workers", detail: "The one container of this preview has other jobs." };
      case "starting":
        return { reason: "worker_starting", detail: "The container starts." };
      case "failing":
        return { reason: "worker_crash_looping", detail: "The container has ended, and is started again." };
    }
  }

  #whyNotReady(): string {
    const seconds = READY_LIMIT_MS / 1_000;
    const { plan, maker } = this.#options;
    const { server } = plan;
    if (this.#complaint !== null) return this.#complaint;
    if (server === null) {
      return (
        `did not ask for jobs within ${seconds} s. It loads for too long, is no queue worker, or does not reach ` +
        `${maker.address} (does a firewall keep containers from this computer?)`
      );
    }
    return `did not answer GET ${server.healthPath} on port ${server.healthPort} with 200 within ${seconds} s`;
  }

  async #failure(container: PreviewContainer, what: string): Promise<Failure> {
    const lines = (await container.lastLines(LINES_SHOWN)).flatMap(readLine);
    const advice = lines.length > 0 ? lines : ["It has printed nothing."];
    return new Failure(`The container of ${this.name} ${what}.`, advice);
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
