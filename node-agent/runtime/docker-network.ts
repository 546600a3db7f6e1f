import { isIPv4 } from "node:net";
import type Dockerode from "dockerode";
import { isConflict } from "./docker-errors.ts";
import { Turns } from "./turns.ts";

/** The bridge network of the workers: they reach the agent on its gateway, and not each other. */
export class DockerNetwork {
  readonly #docker: Dockerode;
  readonly #name: string;
  readonly #turns = new Turns();

  constructor(docker: Dockerode, name: string) {
    this.#docker = docker;
    this.#name = name;
  }

  ensure(): Promise<void> {
    return this.#turns.take(this.#name, async () => {
      if ((await this.#find()) === undefined) await this.#create();
    });
  }

  /** Address of the host on this network. */
  async gatewayAddress(): Promise<string> {
    await this.ensure();
    const network = await this.#find();
    const gateways = (network?.IPAM?.Config ?? []).map((range) => range.Gateway?.split("/")[0] ?? "");
    const address = gateways.find((gateway) => isIPv4(gateway));
    if (!address) {
      throw new Error(
        `The Docker network ${this.#name} has no gateway address. Remove it (docker network rm ${this.#name}); the agent creates it anew.`,
      );
    }
    return address;
  }

  async #find(): Promise<Dockerode.NetworkInspectInfo | undefined> {
    return (await this.#all())[0];
  }

  async #create(): Promise<void> {
    try {
      const network = await this.#docker.createNetwork({
        Name: this.#name,
        CheckDuplicate: true,
        Driver: "bridge",
        Options: { "com.docker.network.bridge.enable_icc": "false" },
      });
      await this.#yield(network);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** Older daemons let two agents create networks of one name at the same moment; the first one stays. */
  async #yield(own: Dockerode.Network): Promise<void> {
    const first = await this.#find();
    if (first !== undefined && first.Id !== own.id) await own.remove();
  }

  /** Networks of exactly this name, the oldest first. */
  async #all(): Promise<readonly Dockerode.NetworkInspectInfo[]> {
    const similar = await this.#docker.listNetworks({ filters: { name: [this.#name] } });
    return similar
      .filter((network) => network.Name === this.#name)
      .toSorted((a, b) => `${a.Created} ${a.Id}`.localeCompare(`${b.Created} ${b.Id}`));
  }
}
