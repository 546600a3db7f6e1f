/** Accounts that share an edge, and a model of what each of them owns. */
import { exports } from "cloudflare:workers";
import { freshAccount } from "./accounts.ts";
import { EdgeClient } from "./edge-client.ts";
import { POD_HOST, PodAgent } from "./pod-agent.ts";
import type { Call, Noun, Taken } from "./isolation-operations.ts";
import { documentsOfCaller } from "./whole-account.ts";

/** Made once: to write them takes longer than to ask them. */
const LISTS: readonly Call[] = documentsOfCaller().map((document) => ({ kind: "graphql", document }));

export type Thing = {
  readonly noun: Noun;
  readonly id: string;
  readonly name: string;
  /** The endpoint of a job or batch, or whatever else it goes with. */
  readonly endpointId: string | undefined;
};

export type Answer = { readonly status: number; readonly text: string };

export class Tenant {
  /** Stands in every text that this account writes, and in no other's. */
  readonly mark: string;
  readonly accountId: string;
  readonly #key: string;
  things: readonly Thing[] = [];
  /** What it saw when it last looked. */
  seen = "";

  private constructor(mark: string, account: { accountId: string; key: string }) {
    this.mark = mark;
    this.accountId = account.accountId;
    this.#key = account.key;
  }

  /** With a host, on which its first pods run. */
  static async open(mark: string): Promise<Tenant> {
    const account = await freshAccount();
    const gpus = [...POD_HOST.gpus, ...POD_HOST.gpus].map((gpu, index) => ({ ...gpu, index }));
    const { agent } = await PodAgent.join(new EdgeClient(account.key), { gpus });
    const tenant = new Tenant(mark, account);
    tenant.gain({ noun: "host", id: agent.hostId, name: "host", endpointId: undefined });
    return tenant;
  }

  /** What must not be seen by others. */
  get traces(): readonly string[] {
    return [this.mark, this.accountId, this.#key, ...this.things.map(({ id }) => id)];
  }

  of(noun: Noun): readonly Thing[] {
    return this.things.filter((thing) => thing.noun === noun);
  }

  async ask(call: Call): Promise<Answer> {
    const { method, path, body } =
      call.kind === "http" ? call : { method: "POST", path: "/graphql", body: { query: call.document } };
    const response = await exports.default.fetch(`http://edge${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** All that the account can list, of its queues too. */
  async look(): Promise<string> {
    const calls = [...LISTS];
    for (const { id } of this.of("endpoint")) {
      for (const list of ["requests", "batch"]) {
        calls.push({ kind: "http", method: "GET", path: `/v2/${id}/${list}` });
      }
    }
    const answers: string[] = [];
    for (const call of calls) answers.push((await this.ask(call)).text);
    // Times of jobs that have not ended grow by themselves.
    this.seen = answers.join("\n").replaceAll(/"(delayTime|executionTime)":\d+/g, '"$1":0');
    return this.seen;
  }

  gain(thing: Thing): void {
    this.things = [...this.things, thing];
  }

  lose(gone: Thing): void {
    this.things = this.things.filter(({ id, endpointId }) => id !== gone.id && endpointId !== gone.id);
  }
}

/** How a thing is named in a call. */
export function wordFor(thing: Thing, { by }: Taken): string {
  return thing[by];
}

/** A word of the same form for a thing that never was. */
export function neverWas({ noun, by }: Taken): string {
  const random = crypto.randomUUID();
  if (by === "name") return `never-${random}`;
  return noun === "job" ? `${random}-s0` : random.replaceAll("-", "").slice(0, 14);
}
