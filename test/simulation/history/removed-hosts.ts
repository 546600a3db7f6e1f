/** An owner removes a host while it works: nothing stays or comes there, and nothing of it is accepted any more. */
import type { SimulatedHost } from "../host/host.ts";
import type { Network } from "../runtime/network.ts";
import type { JobChange } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { SimulatedClient } from "./client.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type RemovedHostsParts = {
  readonly world: World;
  readonly network: Network;
  readonly plan: HistoryPlan;
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

type Removed = { readonly host: SimulatedHost; readonly at: number; presentAt: number };

const PAUSE_MS = 3_000;
const AGAIN_MS = 500;
/** A credential that has ended is refused everywhere within this time. */
const STALE_MS = 30_000;
/** An agent that works has ended its workers, and itself, so long after it was refused. */
const GONE_MS = 60_000;
/** With these, containers stay for long, or the agent does. */
const KEEP_CONTAINERS: readonly Fault[] = ["stopsIgnored", "killsHang", "daemonBroken", "diskFull"];

export class RemovedHosts {
  readonly #parts: RemovedHostsParts;
  readonly #removed = new Map<string, Removed>();
  /** Workers that were there at the last look, and their hosts. */
  readonly #hostOf = new Map<string, string>();
  readonly #areContainersGone: boolean;

  constructor(parts: RemovedHostsParts) {
    this.#parts = parts;
    this.#areContainersGone = !KEEP_CONTAINERS.some((fault) => parts.plan.faults.has(fault));
  }

  /** Removes the last host of the account. */
  async remove(client: SimulatedClient, account: Account): Promise<void> {
    const { world } = this.#parts;
    const host = account.hosts.at(-1);
    if (!host) return;
    await pause(world.random.delay(PAUSE_MS));
    account.closedHostIds.add(host.hostId);
    account.drainedHostIds.add(host.hostId);
    host.isRemoved = true;
    for (;;) {
      const answer = await client.call("DELETE", `/v1/hosts/${host.hostId}`);
      // Also where the first answer got lost, it is gone.
      if (answer && (answer.status < 300 || answer.status === 404)) break;
      await pause(AGAIN_MS);
    }
    this.#removed.set(host.hostId, { host, at: world.elapsedMs, presentAt: world.elapsedMs });
  }

  checkStep(): void {
    if (!this.#parts.plan.hasRemovals) return;
    const { violate } = this.#parts;
    for (const { worker_id: workerId, host_id: hostId } of this.#parts.workers()) {
      this.#hostOf.set(workerId, hostId);
      if (this.#removed.has(hostId))
        violate(`the host ${hostId} was removed, and has the worker ${workerId}`);
    }
    if (this.#areContainersGone) for (const removed of this.#removed.values()) this.#checkContainers(removed);
  }

  /** The agent is refused, ends its workers and stays down. */
  #checkContainers(removed: Removed): void {
    const { world, network, violate } = this.#parts;
    const { host } = removed;
    if (!host.isUp || network.outages.has(host.machine)) removed.presentAt = world.elapsedMs;
    const running = [...host.containers.all.values()].find(({ isRunning }) => isRunning);
    const isLong = world.elapsedMs - removed.presentAt > STALE_MS + GONE_MS;
    if (running && isLong && host.isUp)
      violate(`the host ${host.hostId} was removed long ago, and runs ${running.spec.workerId}`);
  }

  /** Nobody takes the result of a worker there, once no copy of its credential counts. */
  jobChanged({ seq, after, workerId }: JobChange): void {
    const removed = this.#removed.get(this.#hostOf.get(workerId ?? "") ?? "");
    const agoMs = this.#parts.world.elapsedMs - (removed?.at ?? Infinity);
    if (after === "completed" && agoMs > STALE_MS)
      this.#parts.violate(
        `job ${seq} ended with the result of ${workerId}, whose host was removed long before`,
      );
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
