/** What holds between accounts: nothing of one runs on a host of another, and none is shown anything of another. */
import type { StatementSync } from "node:sqlite";
import type { SimulatedHost } from "../host/host.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { AnsweredCall, SimulatedClient } from "./client.ts";
import type { WorkerRow } from "./fleet-rows.ts";

export type IsolationParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly accounts: readonly Account[];
  readonly hosts: readonly SimulatedHost[];
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

const LOOK_MS = 250;
const TABLES: readonly string[] = ["endpoint", "pod", "host", "template", "api_key"];
const OWNER = TABLES.map((table) => `SELECT account_id FROM ${table} WHERE id = ?1`).join(" UNION ALL ");
const OWNED = TABLES.map((table) => `SELECT id FROM ${table} WHERE account_id = ?1`).join(" UNION ALL ");

export class Isolation {
  readonly #parts: IsolationParts;
  /** Ids of accounts, by what they own or have owned. */
  readonly #owners = new Map<string, string>();
  readonly #statements = new Map<string, StatementSync>();
  #lookAt = 0;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
  }

  checkStep(): void {
    const { world, accounts, hosts, workers } = this.#parts;
    if (accounts.length < 2 || world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    for (const { worker_id: workerId, endpoint_id: endpointId, is_pod: isPod, host_id: hostId } of workers())
      this.#checkPlace("is placed", workerId, isPod ? workerId : endpointId, hostId);
    for (const { hostId, containers } of hosts)
      for (const { spec } of containers.all.values())
        this.#checkPlace("runs", spec.workerId, spec.pod ? spec.workerId : spec.endpointId, hostId);
  }

  /** `client` is shown nothing of others that it has not named itself. */
  answered(client: SimulatedClient, { what, sent, received }: AnsweredCall): void {
    for (const account of this.#parts.accounts) {
      if (account.clients.includes(client)) continue;
      for (const secret of this.#secretsOf(account))
        if (received.includes(secret) && !what.includes(secret) && !sent?.includes(secret))
          this.#parts.violate(`${client.machine.name} is shown ${secret} of another account by ${what}`);
    }
  }

  #checkPlace(how: string, workerId: string, ownedId: string, hostId: string): void {
    const owner = this.#ownerOf(ownedId);
    const ownerOfHost = this.#ownerOf(hostId);
    if (owner !== undefined && ownerOfHost !== undefined && owner !== ownerOfHost)
      this.#parts.violate(`${workerId} ${how} on the host ${hostId} of another account`);
  }

  #ownerOf(id: string): string | undefined {
    const known = this.#owners.get(id) ?? this.#select<{ account_id: string }>(OWNER, id)[0]?.account_id;
    if (known !== undefined) this.#owners.set(id, known);
    return known;
  }

  /** Ids of its things, and inputs of its jobs. */
  *#secretsOf(account: Account): Generator<string> {
    const accountId = this.#ownerOf(account.endpointIds[0] ?? "");
    if (accountId === undefined) return;
    for (const { id } of this.#select<{ id: string }>(OWNED, accountId)) yield id;
    for (const { worker_id: workerId, endpoint_id: endpointId } of this.#parts.workers())
      if (this.#ownerOf(endpointId) === accountId) yield workerId;
    for (const { jobId, input } of account.clients.flatMap(({ jobs }) => jobs)) {
      yield jobId;
      yield JSON.stringify(input);
    }
  }

  #select<Row>(text: string, value: string): readonly Row[] {
    const statement = this.#statements.get(text) ?? this.#parts.edge.d1.database.prepare(text);
    this.#statements.set(text, statement);
    return statement.all(value) as Row[];
  }
}
