/** Which pods Fleet stops for workers and reserved pods that have no place. */
import type { SimulatedHost } from "../host/host.ts";
import { amountsOf, NAMES } from "./capacity.ts";
import type { WorkerRow } from "./fleet-rows.ts";

export type PodRow = {
  readonly pod_id: string;
  readonly config: string;
  readonly desired: string;
  readonly stop_reason: string | null;
  readonly changed_at: number;
};

type RunningPod = {
  readonly podId: string;
  readonly hostId: string;
  readonly gpuIndexes: readonly number[];
  readonly size: string | null;
  readonly accountId: string;
  readonly bidPerGpu: number;
  readonly since: number;
};

type Rows = { readonly pods: readonly PodRow[]; readonly workers: readonly WorkerRow[] };

/**
 * Those that pay least give way, and of those that pay the same the youngest: none is stopped while another one on its
 * host, which has at least as much of it, should have been.
 */
export class Preemptions {
  readonly #hosts: readonly SimulatedHost[];
  readonly #violate: (what: string) => void;
  #before: Rows = { pods: [], workers: [] };

  constructor(hosts: readonly SimulatedHost[], violate: (what: string) => void) {
    this.#hosts = hosts;
    this.#violate = violate;
  }

  /** `isKnown`: nothing that Fleet had written was lost since the last call. */
  changed(after: Rows, isKnown: boolean): void {
    const before = this.#before;
    this.#before = after;
    if (!isKnown) return;
    const preempted = after.pods.filter(({ pod_id: podId, stop_reason: reason }) => {
      const earlier = before.pods.find((pod) => pod.pod_id === podId);
      return reason === "preempted" && earlier?.desired === "running";
    });
    if (preempted.length === 0) return;
    const running = runningPods(before);
    const stayed = new Set(runningPods(after).map(({ podId }) => podId));
    for (const { pod_id: podId } of preempted) {
      const pod = running.find((one) => one.podId === podId);
      const other = running.find((one) => stayed.has(one.podId) && pod && this.#comesFirst(one, pod));
      if (pod && other)
        this.#violate(
          `the pod ${podId} was stopped for others, though ${other.podId} pays ${other.bidPerGpu} and not ${pod.bidPerGpu}, or is younger`,
        );
    }
  }

  #comesFirst(other: RunningPod, pod: RunningPod): boolean {
    const isCheaper = other.bidPerGpu < pod.bidPerGpu;
    const isYounger = other.bidPerGpu === pod.bidPerGpu && other.since > pod.since;
    return (isCheaper || isYounger) && this.#frees(other, pod);
  }

  /** Whether the end of the one frees at least what that of the other does. */
  #frees(one: RunningPod, other: RunningPod): boolean {
    const [amounts, needed] = [amountsOf(one.size), amountsOf(other.size)];
    const names = this.#gpuNames(one);
    return (
      one.hostId === other.hostId &&
      one.accountId === other.accountId &&
      NAMES.every((name) => amounts[name] >= needed[name]) &&
      one.gpuIndexes.length >= other.gpuIndexes.length &&
      new Set([...names, ...this.#gpuNames(other)]).size === 1
    );
  }

  #gpuNames({ hostId, gpuIndexes }: RunningPod): readonly string[] {
    const { gpus = [] } = this.#hosts.find((host) => host.hostId === hostId)?.inventory ?? {};
    return gpus.filter(({ index }) => gpuIndexes.includes(index)).map(({ name }) => name);
  }
}

/** Interruptible ones that have all that is theirs. */
function runningPods({ pods, workers }: Rows): readonly RunningPod[] {
  return pods.flatMap(({ pod_id: podId, config, desired, changed_at: since }) => {
    const worker = workers.find(({ worker_id: workerId }) => workerId === podId);
    const { accountId, isInterruptible, bidPerGpu } = JSON.parse(config) as {
      readonly accountId: string;
      readonly isInterruptible: boolean;
      readonly bidPerGpu: number;
    };
    const isWhole = worker?.retired_in === null && worker.leaving === null;
    if (!isWhole || !isInterruptible || desired !== "running") return [];
    const { host_id: hostId, size, gpu_indexes: indexes } = worker;
    const gpuIndexes = JSON.parse(indexes) as number[];
    return [{ podId, hostId, gpuIndexes, size, accountId, bidPerGpu, since }];
  });
}
