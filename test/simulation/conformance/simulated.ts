/** The cases on the simulated runtime. */
import { EDGE_URL, type EdgeCode, SimulatedEdge } from "../runtime/edge.ts";
import { Network } from "../runtime/network.ts";
import { SimulatedObject } from "../runtime/objects.ts";
import { enterWorld } from "../world/globals.ts";
import { Machine, World } from "../world/world.ts";
import { CASES, type ConformanceCase, type ObjectState, type Platform } from "./cases.ts";

export type ConformanceOutcome = {
  readonly name: string;
  readonly gives: unknown;
  readonly expected: unknown;
};

const LIMIT_MS = 60_000;

/** Runs each case in a world of its own; `useNetwork` is told the network of each. */
export async function runCases(
  code: EdgeCode,
  useNetwork: (network: Network) => void,
): Promise<readonly ConformanceOutcome[]> {
  const outcomes: ConformanceOutcome[] = [];
  for (const one of CASES) outcomes.push(await runCase(one, code, useNetwork));
  return outcomes;
}

async function runCase(
  { name, run, gives: expected }: ConformanceCase,
  code: EdgeCode,
  useNetwork: (network: Network) => void,
): Promise<ConformanceOutcome> {
  const world = new World(1);
  enterWorld(world);
  const network = new Network(world);
  useNetwork(network);
  const edge = new SimulatedEdge(world, network, code);
  let gives: unknown = "nothing came out";
  class Subject {
    readonly #state: ObjectState;

    constructor(state: unknown) {
      this.#state = state as ObjectState;
    }

    async act(): Promise<void> {
      const platform = { state: this.#state, bucket: edge.env["PAYLOADS"], database: edge.env["DB"] };
      gives = await run(platform as Platform);
    }
  }
  const object = new SimulatedObject(network, "subject", {
    objectClass: () => Subject as never,
    env: () => ({}),
    clockAheadMs: () => 0,
  });
  let isOver = false;
  void world.on(new Machine(EDGE_URL), async () => {
    await object.call("act", []).catch((error: unknown) => (gives = `failed: ${String(error)}`));
    isOver = true;
  });
  await world.run(
    world.now + LIMIT_MS,
    () => isOver,
    () => {},
  );
  enterWorld(undefined);
  return { name, gives, expected };
}
