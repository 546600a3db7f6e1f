/** The cases on the simulated runtime. */
import { DurableObject } from "../runtime/cloudflare-workers.ts";
import { EDGE_URL, type EdgeCode, SimulatedEdge } from "../runtime/edge.ts";
import { Network } from "../runtime/network.ts";
import { type ObjectClass, SimulatedObject } from "../runtime/objects.ts";
import { SimulatedNamespace } from "../runtime/stubs.ts";
import { enterWorld } from "../world/globals.ts";
import { Machine, World } from "../world/world.ts";
import { CASES, type ConformanceCase, type ObjectState, type Platform } from "./cases.ts";
import { LIFECYCLE } from "./lifecycle.ts";
import { type LifecycleCase, objectName, passed, type Stub } from "./subject.ts";
import { subjectClass } from "./subject-object.ts";

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
  const run = async (
    { name, gives: expected }: ConformanceCase | LifecycleCase,
    act: (network: Network) => Promise<unknown>,
  ): Promise<ConformanceOutcome> => {
    const gives = await inWorld((network) => {
      useNetwork(network);
      return act(network);
    });
    return { name, gives, expected };
  };
  const outcomes: ConformanceOutcome[] = [];
  for (const one of CASES) outcomes.push(await run(one, (network) => runInObject(one, network, code)));
  for (const one of LIFECYCLE) outcomes.push(await run(one, (network) => runOutside(one, network)));
  return outcomes;
}

/** What comes out of `act` on a machine of a new world. */
async function inWorld(act: (network: Network) => Promise<unknown>): Promise<unknown> {
  const world = new World(1);
  enterWorld(world);
  const network = new Network(world);
  let gives: unknown = "nothing came out";
  let isOver = false;
  void world.on(new Machine(EDGE_URL), async () => {
    gives = await act(network).catch((error: unknown) => `failed: ${String(error)}`);
    isOver = true;
  });
  await world.run(
    world.now + LIMIT_MS,
    () => isOver,
    () => {},
  );
  enterWorld(undefined);
  return gives;
}

async function runInObject({ run }: ConformanceCase, network: Network, code: EdgeCode): Promise<unknown> {
  const { env } = new SimulatedEdge(network.world, network, code);
  let gives: unknown;
  class Subject {
    readonly #state: ObjectState;

    constructor(state: unknown) {
      this.#state = state as ObjectState;
    }

    async act(): Promise<void> {
      const platform = { state: this.#state, bucket: env["PAYLOADS"], database: env["DB"] };
      gives = await run(platform as Platform);
    }
  }
  await objectOf(network, "subject", Subject as never, {}).call("act", []);
  return gives;
}

async function runOutside({ name, run }: LifecycleCase, network: Network): Promise<unknown> {
  const SubjectObject = subjectClass(DurableObject) as unknown as ObjectClass;
  const namespace: SimulatedNamespace = new SimulatedNamespace((objectId) =>
    objectOf(network, objectId, SubjectObject, { SUBJECT: namespace }),
  );
  const id = (isOther: boolean): string => objectName({ caseName: name, runId: "simulated", isOther });
  return run({
    stub: () => namespace.getByName(id(false)) as Stub,
    other: () => namespace.getByName(id(true)) as Stub,
    evict: async () => {
      const object = namespace.object(id(false));
      while (!object.isIdle) await passed(1);
      object.evict();
    },
  });
}

function objectOf(network: Network, name: string, objectClass: ObjectClass, env: unknown): SimulatedObject {
  return new SimulatedObject(network, name, {
    idName: name,
    objectClass: () => objectClass,
    env: () => env,
    clockAheadMs: () => 0,
  });
}
