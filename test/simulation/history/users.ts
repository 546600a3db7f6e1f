/** Who uses the things of an account: each of its clients, as the plan says. */
import { SecretUser } from "./secret-user.ts";
import type { KnownSecret } from "./secrets.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import type { Commands } from "./commands.ts";
import { DeletionUser } from "./deletion-user.ts";
import { HostUser } from "./host-user.ts";
import type { Invariants } from "./invariants.ts";
import { KeyUser } from "./key-user.ts";
import { LogUser } from "./log-user.ts";
import { PodLogUser } from "./pod-log-user.ts";
import type { PodUser } from "./pods.ts";
import { placeOfPods, placeOfWorkers } from "./request-places.ts";
import { RequestUser } from "./request-user.ts";
import { ShardUser } from "./shard-user.ts";
import { StatusUser } from "./status-user.ts";
import { TunnelUser } from "./tunnels.ts";
import { TemplateUser } from "./template-user.ts";
import { Trespasser } from "./trespasser.ts";
import { Workload } from "./workload.ts";

export type UsersParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly account: Account;
  /** Another one; null where there is none. */
  readonly other: Account | null;
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
  readonly podLogUsers: readonly PodLogUser[];
  readonly #requestUsers: readonly RequestUser[];
  readonly #tunnelUsers: readonly TunnelUser[];
  readonly #deletionUsers: readonly DeletionUser[];
  readonly #hostUsers: readonly HostUser[];
  readonly #keyUsers: readonly KeyUser[];
  readonly #statusUsers: readonly StatusUser[];
  readonly #templateUsers: readonly TemplateUser[];
  readonly #secretUsers: readonly SecretUser[];

  constructor(parts: UsersParts) {
    this.#parts = parts;
    const { clients, plan } = parts.account;
    this.workloads = clients.map((client) => this.#workload(client));
    this.#requestUsers = this.workloads.flatMap((workload) => this.#requestUsersOf(workload));
    this.#tunnelUsers = plan.hasTunnels ? clients.map((client) => this.#tunnelUser(client)) : [];
    this.logUsers = plan.hasLogs ? clients.map((client) => this.#logUser(client)) : [];
    this.podLogUsers = plan.hasLogs && plan.hasPods ? this.workloads.map((one) => this.#podLogUser(one)) : [];
    this.#deletionUsers = plan.hasDeletions ? [this.#deletionUser(parts.account.firstClient)] : [];
    this.#hostUsers = plan.hasHostChanges ? [this.#hostUser(parts.account.firstClient)] : [];
    this.#keyUsers = plan.hasKeys ? [this.#keyUser(parts.account.firstClient)] : [];
    this.#statusUsers = plan.hasTimelines ? [this.#statusUser(parts.account.firstClient)] : [];
    const { secret } = parts.account;
    this.#secretUsers = secret ? [this.#secretUser(parts.account.firstClient, secret)] : [];
    this.#templateUsers = plan.hasTemplates ? [this.#templateUser(parts.account.firstClient)] : [];
  }

  start(): void {
    const { world, account, invariants } = this.#parts;
    const owner = account.firstClient;
    if (account.plan.hasRemovals)
      owner.run(world, async () => await invariants.removedHosts.remove(owner, account));
    if (account.plan.hasShards) new ShardUser(world, this.#parts.edge, account.endpointIds).start();
    const logUsers = [...this.logUsers, ...this.podLogUsers];
    for (const user of [...this.workloads, ...logUsers, ...this.#others]) user.start();
  }

  /** One of them tries what belongs to those of another account. */
  trespassOn(others: Users): void {
    const { world, account } = this.#parts;
    const pods = (): readonly PodUser[] => others.workloads.map((workload) => workload.pods);
    const parts = { world, client: account.firstClient, account: others.account, pods };
    new Trespasser({ ...parts, violate: this.#violate }).start();
  }

  get account(): Account {
    return this.#parts.account;
  }

  /** They have called all that they want to call. */
  get haveCalled(): boolean {
    return this.workloads.every(({ isOver }) => isOver);
  }

  /** And nothing is open of what they have made to containers, or have made to delete it. */
  get areOver(): boolean {
    return this.haveCalled && this.#others.every(({ isOver }) => isOver);
  }

  /** Those who may go on while the workloads are over. */
  get #others() {
    return [
      ...this.#requestUsers,
      ...this.#tunnelUsers,
      ...this.#deletionUsers,
      ...this.#hostUsers,
      ...this.#keyUsers,
      ...this.#statusUsers,
      ...this.#templateUsers,
      ...this.#secretUsers,
    ];
  }

  /** Hosts get workers again; to be called when no earlier call is under way. */
  async openHosts(): Promise<void> {
    for (const user of this.#hostUsers) await user.openAll();
  }

  /** When all is over. */
  checkDeletions(): void {
    for (const user of this.#deletionUsers) user.check();
  }

  /** Who tries the key of the other account. */
  get #stranger(): SimulatedClient | null {
    return this.#parts.other?.firstClient ?? null;
  }

  #workload(client: SimulatedClient): Workload {
    const { world, account, invariants } = this.#parts;
    const { plan, endpointIds, clients } = account;
    return new Workload({
      ...{ world, plan, endpointIds, client, clients, violate: this.#violate },
      onOperation: this.#parts.onOperation,
      purges: invariants.purges,
      claimOrder: invariants.claimOrder,
      outputs: invariants.outputs,
      endedAt: (jobId) => invariants.endedAt(jobId),
      ends: () => invariants.ends,
      jobOfMark: (mark) => invariants.executions.jobOfMark(mark),
      hasPlatformFaults: invariants.hasPlatformFaults,
      hasDelays: invariants.hasDelays,
      storedJobs: (endpointId) => invariants.storedJobs(endpointId),
      webhooks: invariants.webhooks,
      mayHaveLeftChunks: ({ endpointId, jobId }: KnownJob, mark: number): boolean =>
        invariants.executions.mayHaveLeftChunks(endpointId, jobId, mark),
    });
  }

  #requestUsersOf({ client, pods }: Workload): readonly RequestUser[] {
    const { world, account, invariants } = this.#parts;
    const stranger = this.#stranger;
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

  #deletionUser(client: SimulatedClient): DeletionUser {
    const { world, edge, account, invariants } = this.#parts;
    const { plan, hosts } = account;
    const workers = () => invariants.workers;
    return new DeletionUser({ world, plan, edge, client, hosts, workers, violate: this.#violate });
  }

  #hostUser(client: SimulatedClient): HostUser {
    const { world, account, invariants } = this.#parts;
    const { closedHosts } = invariants;
    return new HostUser({ world, plan: account.plan, account, client, closedHosts, violate: this.#violate });
  }

  #keyUser(client: SimulatedClient): KeyUser {
    const { world, account } = this.#parts;
    const { plan, endpointIds } = account;
    return new KeyUser({ world, plan, client, endpointIds, violate: this.#violate });
  }

  #templateUser(client: SimulatedClient): TemplateUser {
    const { world, account } = this.#parts;
    return new TemplateUser({ world, plan: account.plan, client, violate: this.#violate });
  }

  #secretUser(client: SimulatedClient, secret: KnownSecret): SecretUser {
    return new SecretUser({ world: this.#parts.world, client, secret, violate: this.#violate });
  }

  #statusUser(client: SimulatedClient): StatusUser {
    const { world, account, invariants } = this.#parts;
    const { plan, endpointIds } = account;
    const endedAt = (jobId: string): number => invariants.endedAt(jobId);
    return new StatusUser({ world, plan, client, endpointIds, endedAt, violate: this.#violate });
  }

  #logUser(client: SimulatedClient): LogUser {
    const { world, account, invariants } = this.#parts;
    const stranger = this.#stranger;
    const { plan, allEndpointIds: endpointIds } = account;
    const { logs } = invariants;
    return new LogUser({ world, plan, client, stranger, endpointIds, logs, violate: this.#violate });
  }

  #podLogUser({ client, pods }: Workload): PodLogUser {
    const { world, account, invariants } = this.#parts;
    const { plan } = account;
    const { logs } = invariants;
    return new PodLogUser({
      ...{ world, plan, client, pods, logs },
      stranger: this.#stranger,
      violate: this.#violate,
    });
  }
}
