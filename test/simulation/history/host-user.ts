/** An owner of hosts, who cordons and drains them, and lifts that. */
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { SimulatedClient } from "./client.ts";
import type { ClosedHosts, Closing } from "./closed-hosts.ts";
import type { HistoryPlan } from "./plan.ts";
import { mayRepeatCalls } from "./planned-faults.ts";

export type HostUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly account: Account;
  readonly client: SimulatedClient;
  readonly closedHosts: ClosedHosts;
  readonly violate: (what: string) => void;
};

type Change = { readonly cordoned?: boolean; readonly drained?: boolean };

const CHANGES = 4;
const PAUSE_MS = 1_500;
/** Typical time until a change is lifted. */
const CLOSED_MS: readonly number[] = [200, 6_000, 15_000];
const CLOSED_MAX_MS = 30_000;
const AGAIN_MS = 500;
const OPEN: Change = { cordoned: false, drained: false };

export class HostUser {
  readonly #parts: HostUserParts;
  readonly #mayHaveCopies: boolean;
  #isOver = false;
  #isEnding = false;

  constructor(parts: HostUserParts) {
    this.#parts = parts;
    this.#mayHaveCopies = mayRepeatCalls(parts.plan.faults);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world, account } = this.#parts;
    const { random } = world;
    client.run(world, async () => {
      for (let left = CHANGES; left > 0 && !this.#isEnding; left -= 1) {
        await pause(random.delay(PAUSE_MS));
        await this.#closeForAWhile(random.pick(account.hosts).hostId, random.pick(["cordoned", "drained"]));
      }
      this.#isOver = true;
    });
  }

  /** When no copy of an earlier call is under way: all hosts get workers again. */
  async openAll(): Promise<void> {
    const { account } = this.#parts;
    this.#isEnding = true;
    while (!this.#isOver) await pause(AGAIN_MS);
    for (const { hostId } of account.hosts) await this.#change(hostId, OPEN);
    account.closedHostIds.clear();
    account.drainedHostIds.clear();
  }

  async #closeForAWhile(hostId: string, how: Closing): Promise<void> {
    const { world, account, closedHosts } = this.#parts;
    const isFirst = !account.closedHostIds.has(hostId);
    account.closedHostIds.add(hostId);
    if (how === "drained") account.drainedHostIds.add(hostId);
    await this.#change(hostId, { [how]: true });
    if (isFirst || !this.#mayHaveCopies) closedHosts.closed(hostId, how);
    await pause(Math.min(CLOSED_MAX_MS, world.random.delay(world.random.pick(CLOSED_MS))));
    closedHosts.lifting(hostId);
    await this.#change(hostId, OPEN);
    if (this.#mayHaveCopies) return; // until all are opened
    account.closedHostIds.delete(hostId);
    if (account.drainedHostIds.delete(hostId)) account.takenBackAt.set(hostId, world.elapsedMs);
  }

  /** Repeating it is safe, so it is repeated until it is answered. */
  async #change(hostId: string, change: Change): Promise<void> {
    const { client, violate } = this.#parts;
    for (;;) {
      const answer = await client.call("PATCH", `/v1/hosts/${hostId}`, change);
      if (answer?.status === 200) {
        const given = Object.entries(change).every(([field, value]) => answer.body[field] === value);
        if (!given && !this.#mayHaveCopies)
          violate(
            `the host ${hostId} was changed to ${JSON.stringify(change)}: ${JSON.stringify(answer.body)}`,
          );
        return;
      }
      await pause(AGAIN_MS);
    }
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
