/** What an account puts in order once there are no more faults, so that all that waits can end. */
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import { repair } from "./operator.ts";
import type { Users } from "./users.ts";

export type SettlingParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly users: Users;
};

/** After the last fault no message is under way for longer. */
const LAST_COPY_MS = 10_000;
/** Hosts have come back and follow what pods are told, and maintenance repairs changes that broke off a minute before. */
const PODS_MAINTENANCE_MS = 65_000;
const PODS_CHECK_MS = 20_000;

export class Settling {
  readonly #parts: SettlingParts;
  #areOver = false;

  constructor(parts: SettlingParts) {
    this.#parts = parts;
  }

  /** There are no pods any more. */
  get areOver(): boolean {
    return this.#areOver;
  }

  start(): void {
    for (const { operator } of this.#parts.users.workloads) operator.close();
    this.#settleSettings();
    this.#settlePods();
  }

  /** A copy of a pause that arrived late may have undone its end; no such copy is under way any more. */
  #settleSettings(): void {
    const { world, users } = this.#parts;
    const { firstClient: client, endpointIds, plan } = users.account;
    client.run(world, async () => {
      await pause(LAST_COPY_MS);
      await users.openHosts();
      for (const endpointId of endpointIds) await repair(client, endpointId, plan);
    });
  }

  /** Pods end, so that the jobs which wait get the hosts. */
  #settlePods(): void {
    const { world, edge, users } = this.#parts;
    const { account } = users;
    this.#areOver = !account.plan.hasPods;
    if (this.#areOver) return;
    for (const { pods } of users.workloads) pods.close();
    account.firstClient.run(world, async () => {
      await pause(PODS_MAINTENANCE_MS);
      edge.maintain();
      await pause(PODS_CHECK_MS);
      for (const { pods } of users.workloads) await pods.check(account.hosts);
      for (const logUser of users.podLogUsers) await logUser.check();
      for (const { pods } of users.workloads) await pods.terminateAll();
      this.#areOver = true;
    });
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
