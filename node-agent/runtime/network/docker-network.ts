import { isIPv4 } from "node:net";
import type Dockerode from "dockerode";
import { bridgeName } from "./firewall-rules.ts";
import { isConflict, isForbidden, isNotFound } from "../daemon/docker-errors.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";

const BRIDGE_OPTION = "com.docker.network.bridge.name";
const MASQUERADE_OPTION = "com.docker.network.bridge.enable_ip_masquerade";
/** Docker from 28.2 on lets nobody else through; older daemons do not know it. */
const TRUSTED_OPTION = "com.docker.network.bridge.trusted_host_interfaces";
const NEIGHBOURS_OPTION = "com.docker.network.bridge.enable_icc";

/** Addresses of a network; Docker chooses them where they are not given. */
export type Addressing = {
  readonly network: string;
  readonly gateway: string;
  /** The interface by which other hosts reach its containers; null where none does. */
  readonly outside: string | null;
};

/**
 * A bridge network: its containers reach the agent on its gateway, and not each other. What leaves one with given
 * addresses keeps them, unless rules say otherwise.
 */
export class DockerNetwork {
  readonly #docker: Dockerode;
  readonly #name: string;
  readonly #addressing: Addressing | undefined;
  readonly #mutex = new KeyedMutex();

  constructor(docker: Dockerode, name: string, addressing?: Addressing) {
    this.#docker = docker;
    this.#name = name;
    this.#addressing = addressing;
  }

  /** Interface of the host that leads to the workers. */
  get bridge(): string {
    return bridgeName(this.#name);
  }

  ensure(): Promise<void> {
    return this.#mutex.run(this.#name, async () => {
      const found = await this.#find();
      if (found !== undefined && !this.#isAsConfigured(found)) await this.#discard(found);
      else if (found !== undefined) return;
      await this.#create();
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
        `The Docker network ${this.#name} has no gateway address. Remove it (docker network rm ${this.#name}); the agent creates it again.`,
      );
    }
    return address;
  }

  async exists(): Promise<boolean> {
    return (await this.#find()) !== undefined;
  }

  async remove(): Promise<void> {
    for (const { Id } of await this.#all()) await this.#docker.getNetwork(Id).remove();
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
        EnableIPv6: false,
        Options: {
          ...{ [BRIDGE_OPTION]: this.bridge, [NEIGHBOURS_OPTION]: "false" },
          ...(this.#addressing && { [MASQUERADE_OPTION]: "false" }),
          ...(this.#addressing?.outside && { [TRUSTED_OPTION]: this.#addressing.outside }),
        },
        ...(this.#addressing && { IPAM: ipamOf(this.#addressing) }),
      });
      await this.#yield(network);
    } catch (error) {
      // Two networks can not have one interface: another agent was faster.
      if (!isConflict(error) && (await this.#find()) === undefined) throw error;
    }
  }

  #isAsConfigured({ Options, EnableIPv6, IPAM }: Dockerode.NetworkInspectInfo): boolean {
    const { network } = this.#addressing ?? {};
    if (network !== undefined && IPAM?.Config?.[0]?.Subnet !== network) return false;
    const { [BRIDGE_OPTION]: bridge, [NEIGHBOURS_OPTION]: neighbours } = Options ?? {};
    return bridge === this.bridge && neighbours === "false" && !EnableIPv6;
  }

  /** Options of a network can not be changed. */
  async #discard({ Id }: Dockerode.NetworkInspectInfo): Promise<void> {
    try {
      await this.#docker.getNetwork(Id).remove();
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isForbidden(error) && !isConflict(error)) throw error;
      throw new Error(
        `The Docker network ${this.#name} does not keep workers apart, and containers still use it. Remove those (docker network inspect ${this.#name}); the agent then creates it again.`,
        { cause: error },
      );
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

function ipamOf({ network: Subnet, gateway: Gateway }: Addressing): Dockerode.NetworkCreateOptions["IPAM"] {
  return { Driver: "default", Config: [{ Subnet, Gateway }] };
}
