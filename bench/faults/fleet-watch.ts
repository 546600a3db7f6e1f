/** What the management API and the hosts themselves show over time. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import type { RigHost } from "../../test/support/rig/rig-host.ts";

const LOOK_AGAIN_MS = 100;

type Look = {
  readonly at: number;
  /** Names of hosts that the edge takes for lost. */
  readonly absent: readonly string[];
  /** Names of hosts, and workers there that no assignment names. */
  readonly unknown: ReadonlyMap<string, readonly string[]>;
};

type Shown = {
  readonly myself: { readonly endpoints: readonly { readonly pods: readonly { readonly id: string }[] }[] };
};

export class FleetWatch {
  readonly #rig: FleetRig;
  readonly #hosts: readonly RigHost[];
  readonly #each: () => void;
  readonly #looks: Look[] = [];
  readonly #ended: Promise<void>;
  #isOver = false;

  /** `each` runs with every look. */
  constructor(rig: FleetRig, hosts: readonly RigHost[], each: () => void) {
    this.#rig = rig;
    this.#hosts = hosts;
    this.#each = each;
    this.#ended = this.#watch();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  /** When the host was first shown lost from then on; null if it was not. */
  lostAt(host: string, from: number, to = Number.POSITIVE_INFINITY): number | null {
    return this.#first((look) => look.at >= from && look.at <= to && look.absent.includes(host));
  }

  /** When the host was first shown present from then on. */
  presentAt(host: string, from: number): number | null {
    return this.#first((look) => look.at >= from && !look.absent.includes(host));
  }

  /** The longest time for which a host had one worker without an assignment after a moment, ms. */
  longestUnknownMs(host: string, from: number): number {
    const since = new Map<string, number>();
    let longest = 0;
    for (const { at, unknown } of this.#looks.filter((look) => look.at >= from)) {
      const now = unknown.get(host) ?? [];
      for (const id of since.keys()) if (!now.includes(id)) since.delete(id);
      for (const id of now) longest = Math.max(longest, at - (since.get(id) ?? at));
      for (const id of now) if (!since.has(id)) since.set(id, at);
    }
    return longest;
  }

  #first(matches: (look: Look) => boolean): number | null {
    return this.#looks.find(matches)?.at ?? null;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      this.#each();
      this.#looks.push(await this.#look());
      await delay(LOOK_AGAIN_MS);
    }
  }

  async #look(): Promise<Look> {
    // Workers are read first: one that is assigned meanwhile is known.
    const there = new Map(this.#hosts.map((host) => [host.name, workersOn(host)]));
    const [hosts, { myself }] = await Promise.all([
      this.#rig.hosts(),
      this.#rig.api.query<Shown>("query { myself { endpoints { pods { id } } } }"),
    ]);
    const known = new Set(myself.endpoints.flatMap(({ pods }) => pods.map(({ id }) => id)));
    return {
      at: Date.now(),
      absent: [...hosts.values()].filter(({ isPresent }) => !isPresent).map(({ name }) => name),
      unknown: new Map([...there].map(([name, ids]) => [name, ids.filter((id) => !known.has(id))])),
    };
  }
}

/** Workers that the process runtime of a host has. */
function workersOn({ stateDirectory }: RigHost): readonly string[] {
  const workers = join(stateDirectory, "workers");
  return existsSync(workers) ? readdirSync(workers) : [];
}
