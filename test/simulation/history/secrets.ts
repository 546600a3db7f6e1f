/** Secrets of accounts: who may see their values, and which of them containers get. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";
import { rowsIn } from "../host/modules/sqlite.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { Calm } from "./calm.ts";
import type { AnsweredCall, SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import { mayRepeatCalls } from "./planned-faults.ts";

export type KnownSecret = {
  readonly id: string;
  /** All values that were ever sent; since when another one is known to be in its place, ms of the history. */
  readonly values: { readonly value: string; replacedAt: number | null }[];
};

export type SecretsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly accounts: readonly Account[];
  readonly calm: Calm;
  readonly violate: (what: string) => void;
};

/** Its value is the whole secret. */
export const SECRET_VARIABLE = "TOKEN";
export const SECRET_ENV = `env: [{ key: "${SECRET_VARIABLE}", value: "{{ SECRET_TOKEN }}" }]`;
const LOOK_MS = 100;
/** A container that starts later than this after a change has the new value: its agent had asked for the earlier one. */
const OLD_VALUE_MAX_MS = 10_000;

/** To be called before anything fails. */
export async function makeSecret(world: World, client: SimulatedClient): Promise<KnownSecret> {
  const value = newValue(world);
  const input = `{ name: "TOKEN", value: "${value}" }`;
  const { secretCreate } = await client.manage(`mutation { secretCreate(input: ${input}) { id } }`);
  return { id: secretCreate?.["id"] ?? "", values: [{ value, replacedAt: null }] };
}

export function newValue({ random }: World): string {
  const bytes = new Uint8Array(16);
  random.bytes(bytes);
  return Buffer.from(bytes).toString("hex");
}

export class Secrets {
  readonly #parts: SecretsParts;
  readonly #known = new WeakSet<Container>();
  #lookAt = 0;

  constructor(parts: SecretsParts) {
    this.#parts = parts;
  }

  /** No answer shows a value. */
  answered({ what, received }: AnsweredCall): void {
    for (const value of this.#allValues())
      if (received.includes(value)) this.#parts.violate(`the answer to ${what} shows the value of a secret`);
  }

  checkStep(): void {
    const { world, accounts } = this.#parts;
    if (world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    for (const account of accounts)
      for (const host of account.hosts)
        for (const container of host.containers.all.values()) {
          if (this.#known.has(container)) continue;
          this.#known.add(container);
          this.#checkStarted(account, host, container);
        }
  }

  /** What agents have stored names no value; for the end, as it takes long. */
  checkEnd(): void {
    for (const account of this.#parts.accounts)
      for (const { hostId, stateDir } of account.hosts) {
        const stored = JSON.stringify(rowsIn(stateDir, "worker"));
        for (const value of this.#allValues())
          if (stored.includes(value))
            this.#parts.violate(`the journal of ${hostId} has the value of a secret`);
      }
  }

  /** Its value is one of those of its account, and the newest one unless that has just been changed. */
  #checkStarted({ secret, endpointIds }: Account, host: SimulatedHost, { spec }: Container): void {
    const { world, plan, calm, violate } = this.#parts;
    if (!secret || !endpointIds.includes(spec.endpointId)) return;
    const given = secret.values.find(({ value }) => value === spec.env[SECRET_VARIABLE]);
    if (!given) return violate(`${spec.workerId} starts without a value of the secret of its account`);
    if (given.replacedAt === null || mayRepeatCalls(plan.faults)) return;
    const agoMs = world.elapsedMs - given.replacedAt;
    if (agoMs > OLD_VALUE_MAX_MS && calm.ofCalls(host) > OLD_VALUE_MAX_MS)
      violate(`${spec.workerId} starts with a value of a secret that was replaced ${agoMs} ms ago`);
  }

  #allValues(): readonly string[] {
    return this.#parts.accounts.flatMap(({ secret }) => secret?.values.map(({ value }) => value) ?? []);
  }
}
