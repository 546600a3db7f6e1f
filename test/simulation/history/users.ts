/** Who uses the things of an account: each of its clients, as the plan says. */
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import type { Commands } from "./commands.ts";
import type { Invariants } from "./invariants.ts";
import { LogUser } from "./log-user.ts";
import { placeOfPods, placeOfWorkers } from "./request-places.ts";
import { RequestUser } from "./request-user.ts";
import { TunnelUser } from "./tunnels.ts";
import { Workload } from "./workload.ts";

export type UsersParts = {
  readonly world: World;
  readonly account: Account;
  /** Of another account; null where there is none. */
  readonly stranger: SimulatedClient | null;
  readonly invariants: Invariants;
  readonly commands: Commands;
  /** One of them begins another operation. */
  readonly onOperation: () => void;
};

export class Users {
  readonly #parts: UsersParts;
  readonly #violate = (what: string): void => this.#parts.invariants.violate(what);
  /** Of each client, in their order. */
  readonly workloads: readonly Workload[];
  readonly logUsers: readonly LogUser[];
  readonly #requestUsers: readonly RequestUser[];
  readonly #tunnelUsers: readonly TunnelUser[];

  constructor(parts: UsersParts) {
    this.#parts = parts;
    const { clients, plan } = parts.account;
    this.workloads = clients.map((client) => this.#workload(client));
    this.#requestUsers = this.workloads.flatMap((workload) => this.#requestUsersOf(workload));
    this.#tunnelUsers = plan.hasTunnels ? clients.map((client) => this.#tunnelUser(client)) : [];
    this.logUsers = plan.hasLogs ? clients.map((client) => this.#logUser(client)) : [];
  }

  start(): void {
    for (const user of [...this.workloads, ...this.#requestUsers, ...this.#tunnelUsers, ...this.logUsers])
      user.start();
  }

  /** They have called all that they want to call. */
  get haveCalled(): boolean {
    return this.workloads.every(({ isOver }) => isOver);
  }

  /** And nothing is open of what they have made to containers. */
  get areOver(): boolean {
    return this.haveCalled && [...this.#requestUsers, ...this.#tunnelUsers].every(({ isOver }) => isOver);
  }

  #workload(client: SimulatedClient): Workload {
    const { world, account, stranger, invariants } = this.#parts;
    const { plan, endpointIds, clients } = account;
    return new Workload({
      ...{ world, plan, endpointIds, client, clients, stranger, violate: this.#violate },
      onOperation: this.#parts.onOperation,
      onPurge: () => void (invariants.hasPurged = true),
      hasPurged: () => invariants.hasPurged,
      mayHaveLeftChunks: ({ endpointId, jobId }: KnownJob, mark: number): boolean =>
        invariants.executions.mayHaveLeftChunks(endpointId, jobId, mark),
    });
  }

  #requestUsersOf({ client, pods }: Workload): readonly RequestUser[] {
    const { world, account, stranger, invariants } = this.#parts;
    const { plan, requestEndpointId } = account;
    const { requests, hasPlatformFaults } = invariants;
    const parts = { world, plan, client, requests, hasPlatformFaults };
    const places = [
      ...(requestEndpointId === null
        ? []
        : [{ place: placeOfWorkers(world, plan, requestEndpointId), stranger }]),
      ...(plan.hasPodRequests ? [{ place: placeOfPods(world, pods), stranger: null }] : []),
    ];
    return places.map((place) => new RequestUser({ ...parts, ...place }));
  }

  #tunnelUser(client: SimulatedClient): TunnelUser {
    const { world, account, commands } = this.#parts;
    const { plan, hosts } = account;
    return new TunnelUser({ world, plan, client, hosts, commands, violate: this.#violate });
  }

  #logUser(client: SimulatedClient): LogUser {
    const { world, account, stranger, invariants } = this.#parts;
    const { plan, requestEndpointId } = account;
    const endpointIds = [...account.endpointIds, ...(requestEndpointId === null ? [] : [requestEndpointId])];
    const { logs } = invariants;
    return new LogUser({ world, plan, client, stranger, endpointIds, logs, violate: this.#violate });
  }
}
