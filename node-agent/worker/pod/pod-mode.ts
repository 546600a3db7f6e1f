import type { PodReport } from "../../../src/contract/agent/agent.ts";
import type { PodStore } from "../../pods/pod-store.ts";
import type { AgentLog } from "../../core/log.ts";
import type { Timing } from "../../core/timing.ts";
import type { Admission } from "../../link/admission.ts";
import type { Runtime } from "../../runtime/interface/runtime.ts";
import { errorMessage } from "../../../src/std/errors.ts";
import { IdleCalls } from "../../worker-server/poll.ts";
import type { ModeFacts, WorkerContext } from "../lifecycle/mode.ts";
import { PodServices } from "./pod-services.ts";
import { UseMeter } from "./use-meter.ts";

export type PodModeOptions = {
  readonly pods: PodStore;
  readonly runtime: Pick<Runtime, "kind" | "locateServer" | "use" | "exec" | "listening">;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly onAdmissionChange: (endpointId: string) => void;
};

type Address = Pick<Admission, "host" | "port">;

/**
 * Runs a pod: its container takes no jobs, and is ready as soon as it runs.
 *
 * Its settings list the ports that take HTTP requests. Whether anything listens there is seen when a request comes.
 */
export class PodMode {
  readonly kind = "pod";
  readonly calls: IdleCalls;
  readonly #worker: WorkerContext;
  readonly #options: PodModeOptions;
  /** Where the HTTP ports of the container that runs are reached; empty until that is known. */
  #addresses: ReadonlyMap<number, Address> = new Map();
  #isLocating = false;
  readonly #meter: UseMeter;
  readonly #services: PodServices;
  #wasOpen = false;
  /** Token of the container whose services were looked at. */
  #servedToken: string | undefined;

  constructor(worker: WorkerContext, options: PodModeOptions) {
    this.#worker = worker;
    this.#options = options;
    this.calls = new IdleCalls(() => options.timing.pollHoldMs);
    this.#services = new PodServices({
      podId: worker.outline.workerId,
      runtime: options.runtime,
      log: options.log,
      graceMs: options.timing.podServicesMs,
    });
    this.#meter = new UseMeter({
      intervalMs: options.timing.podUseMs,
      // The limits of an adopted pod are known once the edge has sent its assignment.
      read: async () =>
        worker.container.assignment ? await options.runtime.use(worker.outline.workerId) : null,
      limits: () => worker.container.assignment?.limits,
    });
  }

  // Requests

  get hasHttpPorts(): boolean {
    return this.#httpPorts.length > 0;
  }

  /** Not known of an adopted pod until the edge has sent its assignment. */
  get #httpPorts(): readonly number[] {
    const ports = this.#worker.container.assignment?.pod?.ports ?? [];
    return ports.filter(({ protocol }) => protocol === "http").map(({ port }) => port);
  }

  isOpen(): boolean {
    const { isAlive, acceptsWork } = this.#worker;
    return this.#addresses.size > 0 && isAlive() && acceptsWork();
  }

  /** Null for a port that the settings of the pod do not list, and while its container does not run. */
  admit(port: number): Admission | null {
    const address = this.#addresses.get(port);
    return address && this.isOpen() ? { ...address, isOnly: true, release: () => {} } : null;
  }

  /** Notifies the link when the pod begins or ceases to take requests. */
  updateAdmission(): void {
    this.#ensureServices();
    void this.#locate();
    const isOpen = this.isOpen();
    if (isOpen === this.#wasOpen) return;
    this.#wasOpen = isOpen;
    this.#options.onAdmissionChange(this.#worker.outline.endpointId);
  }

  async #locate(): Promise<void> {
    const { isAlive, acceptsWork, container, outline } = this.#worker;
    const isDue = this.#addresses.size === 0 && this.hasHttpPorts && container.wasReady;
    if (!isDue || this.#isLocating || !isAlive() || !acceptsWork()) return;
    const { token } = container;
    this.#isLocating = true;
    try {
      const located = this.#httpPorts.map(async (port): Promise<[number, Address]> => {
        const place = await this.#options.runtime.locateServer(outline.workerId, { port, healthPort: port });
        return [port, { host: place.host, port: place.port }];
      });
      const addresses = new Map(await Promise.all(located));
      if (token === container.token) this.#addresses = addresses; // else another container runs by now
    } catch (error) {
      const reason = errorMessage(error);
      this.#options.log.warn("pod_ports_unreachable", { workerId: outline.workerId, reason });
    } finally {
      this.#isLocating = false;
    }
    if (this.isOpen()) this.updateAdmission();
  }

  /** Once for each container, as soon as it runs and its assignment is known. */
  #ensureServices(): void {
    const { isAlive, container } = this.#worker;
    const services = container.assignment?.pod?.services;
    if (services === undefined || !isAlive() || !container.wasReady) return;
    if (this.#servedToken === container.token) return;
    this.#servedToken = container.token;
    this.#services.ensure(services);
  }

  // State

  /** What its container shows; undefined while that does not run. */
  report(): PodReport | undefined {
    const { isAlive, container, outline } = this.#worker;
    return isAlive() && container.wasReady
      ? { ports: [...this.#options.pods.portsOf(outline.workerId)], ...this.#meter.use }
      : undefined;
  }

  facts(): ModeFacts {
    return {
      isRefreshing: false,
      needsHardStop: false,
      isIdle: true,
      silentForMs: 0,
      silenceLimitMs: Number.POSITIVE_INFINITY,
      hasLostResults: false,
      unhealthyReason: null,
    };
  }

  failureOf(): null {
    return null;
  }

  // Events of the worker's life

  /** Its container runs, which is all that can be known. */
  started(): void {
    if (!this.#worker.container.wasReady) this.#worker.markReady("runs");
    this.#meter.start();
    this.updateAdmission();
  }

  reset(): void {
    this.#addresses = new Map();
  }

  halt(): void {
    this.calls.endPolls();
  }

  end(): void {
    this.halt();
    this.#meter.stop();
    this.#services.stop();
    this.#addresses = new Map();
    this.updateAdmission();
  }

  close(): void {
    this.halt();
    this.#meter.stop();
    this.#services.stop();
  }
}
