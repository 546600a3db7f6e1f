import { errorMessage } from "../../../src/std/errors.ts";
import type Dockerode from "dockerode";
import { type AgentListener, Firewall } from "./firewall.ts";
import type { AgentLog } from "../../core/log.ts";
import { DockerNetwork } from "./docker-network.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";

/** Others may empty the tables of the host at any time: a restarted Docker, a reloaded firewall. */
const CHECK_INTERVAL_MS = 60_000;

export type NetworkSettings = {
  readonly name: string;
  /** IPv4 networks beyond the Internet that workers may reach. */
  readonly allowedNetworks: readonly string[];
  /** Workers run also where nothing keeps them from the services of the host and its network. */
  readonly isOpenAllowed: boolean;
};

/** The network of the workers, and the rules that decide what they reach from it. */
export class GuardedNetwork {
  readonly #settings: NetworkSettings;
  readonly #log: AgentLog | undefined;
  readonly #network: DockerNetwork;
  readonly #firewall: Firewall;
  readonly #mutex = new KeyedMutex();
  #listener: AgentListener | null = null;
  #timer: NodeJS.Timeout | null = null;
  #lastError: string | null = null;

  constructor(docker: Dockerode, settings: NetworkSettings, log?: AgentLog) {
    this.#settings = settings;
    this.#log = log;
    this.#network = new DockerNetwork(docker, settings.name);
    const { allowedNetworks } = settings;
    this.#firewall = new Firewall({ bridge: this.#network.bridge, allowedNetworks });
  }

  /** Ensures the network and its rules. Throws with a message for users. */
  ensure(): Promise<void> {
    return this.#mutex.run(this.#settings.name, async () => {
      const gateway = await this.#network.gatewayAddress();
      try {
        await this.#firewall.ensure(gateway, this.#listener === null ? [] : [this.#listener]);
        this.#lastError = null;
      } catch (error) {
        this.#logFailure(error);
        if (!this.#settings.isOpenAllowed) throw error;
      }
    });
  }

  gatewayAddress(): Promise<string> {
    return this.#network.gatewayAddress();
  }

  /** Opens this port of the agent to workers, and checks the rules regularly from now on. */
  async admit(port: number): Promise<void> {
    this.#listener = { gateway: await this.#network.gatewayAddress(), port };
    this.#timer ??= setInterval(() => void this.#check(), CHECK_INTERVAL_MS).unref();
    await this.#check(); // each start reports the error
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Takes the network and its rules from the host. Fails while containers use it. */
  async remove(): Promise<void> {
    this.close();
    await this.#network.remove();
    await this.#firewall.remove();
  }

  async #check(): Promise<void> {
    await this.ensure().catch((error: unknown) => this.#logFailure(error));
  }

  /** Once, not every minute. */
  #logFailure(error: unknown): void {
    const reason = errorMessage(error);
    if (reason === this.#lastError) return;
    this.#lastError = reason;
    this.#log?.warn("network_unguarded", { reason, mayRun: this.#settings.isOpenAllowed });
  }
}
