import { isIPv4 } from "node:net";
import type Dockerode from "dockerode";
import { isConflict, isNotFound } from "./docker-errors.ts";

/** The bridge network of the workers: they reach the agent on its gateway, and not each other. */
export class DockerNetwork {
  readonly #docker: Dockerode;
  readonly #name: string;

  constructor(docker: Dockerode, name: string) {
    this.#docker = docker;
    this.#name = name;
  }

  async ensure(): Promise<void> {
    if ((await this.#inspect()) === null) await this.#create();
  }

  /** Address of the host on this network. */
  async gatewayAddress(): Promise<string> {
    await this.ensure();
    const network = await this.#inspect();
    const gateways = (network?.IPAM?.Config ?? []).map((range) => range.Gateway?.split("/")[0] ?? "");
    const address = gateways.find((gateway) => isIPv4(gateway));
    if (!address) {
      throw new Error(
        `The Docker network ${this.#name} has no gateway address. Remove it (docker network rm ${this.#name}); the agent creates it anew.`,
      );
    }
    return address;
  }

  async #inspect(): Promise<Dockerode.NetworkInspectInfo | null> {
    try {
      return await this.#docker.getNetwork(this.#name).inspect();
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async #create(): Promise<void> {
    try {
      await this.#docker.createNetwork({
        Name: this.#name,
        // Without this, Docker lets two networks of one name exist.
        CheckDuplicate: true,
        Driver: "bridge",
        Options: { "com.docker.network.bridge.enable_icc": "false" },
      });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
