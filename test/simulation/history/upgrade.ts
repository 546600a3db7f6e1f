/** The edge gets another version while clients use it, and after it one host after the other. */
import type { AgentCode, SimulatedHost } from "../host/host.ts";
import type { EdgeCode, SimulatedEdge } from "../runtime/edge.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";
import { Machine, type World } from "../world/world.ts";

export type Version = { readonly edge: EdgeCode; readonly agent: AgentCode };

const EDGE_MS = 10_000;
const HOST_MS = 10_000;

/** It is a redeployment, and agents that are killed: what holds without those is not asked for. */
export function withUpgrade(plan: HistoryPlan): HistoryPlan {
  return {
    ...plan,
    faults: new Map<Fault, number>([["redeployment", 0], ["agentKilled", 0], ...plan.faults]),
  };
}

export class Upgrade {
  readonly #left: (() => void)[];

  constructor(
    world: World,
    { edge: code, agent }: Version,
    edge: SimulatedEdge,
    hosts: readonly SimulatedHost[],
  ) {
    this.#left = [() => edge.upgrade(code), ...hosts.map((host) => () => host.upgrade(agent))];
    const operator = new Machine("operator of the upgrade");
    const next = (delayMs: number): void =>
      void world.schedule(operator, world.random.delay(delayMs), "upgrade", () => {
        this.#left.shift()?.();
        if (this.#left.length > 0) next(HOST_MS);
      });
    next(EDGE_MS);
  }

  /** All that is left of it, now. */
  finish(): void {
    for (const upgrade of this.#left.splice(0)) upgrade();
  }
}
