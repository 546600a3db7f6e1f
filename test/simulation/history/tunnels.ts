/** Clients with tunnels into containers: to a program that sends back what it gets, and with commands. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { CommandUse } from "./command-use.ts";
import type { Commands } from "./commands.ts";
import { EchoUse } from "./echo-use.ts";
import type { HistoryPlan } from "./plan.ts";

export type TunnelParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly hosts: readonly SimulatedHost[];
  readonly commands: Commands;
  readonly violate: (what: string) => void;
};

const TUNNELS = 2;
/** From the begin of the history, typically. */
const BEGIN_MS = 5_000;
/** Share of commands, where there are any. */
const COMMANDS = 0.6;

export class TunnelUser {
  readonly #parts: TunnelParts;
  #leftCount = TUNNELS;

  constructor(parts: TunnelParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#leftCount === 0;
  }

  start(): void {
    const { client, world } = this.#parts;
    for (let count = 0; count < TUNNELS; count += 1)
      client.run(world, async () => {
        await new Promise((resolve) => setTimeout(resolve, world.random.delay(BEGIN_MS)));
        const container = this.#choose();
        if (container) await this.#use(container).run();
        this.#leftCount -= 1;
      });
  }

  #use(container: Container): EchoUse | CommandUse {
    const { plan, world } = this.#parts;
    const isCommand = plan.hasCommands && world.random.chance(COMMANDS);
    return isCommand ? new CommandUse(this.#parts, container) : new EchoUse(this.#parts, container);
  }

  #choose(): Container | undefined {
    const all = this.#parts.hosts.flatMap(({ containers }) => [...containers.all.values()]);
    const running = all.filter(({ isRunning, isFrozen }) => isRunning && !isFrozen);
    return running.length === 0 ? undefined : this.#parts.world.random.pick(running);
  }
}
