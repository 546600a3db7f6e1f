/** A client that follows the logs of an endpoint, and goes on after its last event when the stream breaks off. */
import { START_AT, type World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { LineView } from "./log-lines.ts";
import type { Logs } from "./logs.ts";
import { serverEvents } from "./server-events.ts";

export type LogFollowerParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly endpointId: string;
  readonly logs: Logs;
};

const AGAIN_MS = 300;
/** For how long a client stays, typically; it comes again. */
const STAY_MS: readonly number[] = [5_000, 60_000, 1e9];
/** A line that was printed so long ago has come. */
const LATE_MS = 10_000;

export class LogFollower {
  readonly #parts: LogFollowerParts;
  /** Of each container the last line that has come. */
  readonly #last = new Map<string, number>();
  readonly #stayMs: number;
  #lastEventId = "";
  #isOver = false;
  #leave: () => void = () => {};

  constructor(parts: LogFollowerParts) {
    this.#parts = parts;
    this.#stayMs = parts.world.random.pick(STAY_MS);
  }

  start(): void {
    const { world, client } = this.#parts;
    client.run(world, async () => {
      while (!this.#isOver) {
        await this.#followOnce().catch(() => {}); // it broke off
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    });
  }

  leave(): void {
    this.#isOver = true;
    this.#leave();
  }

  check(): void {
    const { logs, endpointId } = this.#parts;
    logs.checkFollowed(endpointId, this.#last, LATE_MS);
  }

  async #followOnce(): Promise<void> {
    const { client, endpointId, world } = this.#parts;
    const gone = new AbortController();
    const timer = setTimeout(() => gone.abort(), world.random.delay(this.#stayMs));
    this.#leave = () => gone.abort();
    const resumed: Record<string, string> =
      this.#lastEventId === "" ? {} : { "last-event-id": this.#lastEventId };
    const headers = { accept: "text/event-stream", ...resumed };
    try {
      const path = `/v2/${endpointId}/logs?limit=2000&since=${START_AT}`;
      const response = await client.open(path, { headers, signal: gone.signal });
      if (response.status === 200 && response.body) await this.#receive(response.body, gone.signal);
      else await response.body?.cancel();
    } finally {
      clearTimeout(timer);
    }
  }

  async #receive(body: ReadableStream<Uint8Array>, gone: AbortSignal): Promise<void> {
    let views: LineView[] = [];
    for await (const { id, data } of serverEvents(body, gone)) {
      if (data !== undefined) views.push(JSON.parse(data) as LineView);
      if (id === undefined) continue;
      this.#lastEventId = id; // what came after it comes again if the stream breaks off
      for (const view of views) this.#take(view);
      views = [];
    }
  }

  #take(view: LineView): void {
    const { logs, endpointId } = this.#parts;
    const found = logs.check(endpointId, view);
    if (!found) return;
    const { name, number } = found;
    logs.checkOrder(name, this.#last.get(name) ?? -1, number, true);
    this.#last.set(name, number);
  }
}
