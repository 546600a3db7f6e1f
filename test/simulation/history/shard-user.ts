/** Has the queues of endpoints shared by other numbers of objects, as load would: there is never enough of it here. */
import { Machine, type World } from "../world/world.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";

const PAUSE_MS = 3_000;
const SHARDS_MAX = 4;
const CHANGES = 8;

type Resizable = { resize(count: number): Promise<unknown> };

export class ShardUser {
  readonly #world: World;
  readonly #edge: SimulatedEdge;
  readonly #endpointIds: readonly string[];
  readonly #load = new Machine("load");

  constructor(world: World, edge: SimulatedEdge, endpointIds: readonly string[]) {
    this.#world = world;
    this.#edge = edge;
    this.#endpointIds = endpointIds;
  }

  start(left = CHANGES): void {
    if (left === 0) return;
    const { random } = this.#world;
    this.#world.schedule(this.#load, random.delay(PAUSE_MS), "other load", () => {
      this.#resize(random.pick(this.#endpointIds), random.whole(1, SHARDS_MAX));
      this.start(left - 1);
    });
  }

  /** It may fail: the load is looked at again. */
  #resize(endpointId: string, count: number): void {
    const object = this.#edge.endpoints.getByName(`${endpointId}#0`) as Resizable;
    object.resize(count).catch(() => {});
  }
}
