/** Batches of a client: drafted, changed, started, sometimes cancelled, and read while they run and at the end. */
import type { World } from "../world/world.ts";
import { type BatchView, checkRequests, checkSummary, type KnownBatch, walkPages } from "./batch-views.ts";
import type { Answer, SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Purges } from "./purges.ts";

export type BatchesParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly purges: Purges;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

const CALLS_MAX = 8;
const AGAIN_MS = 200;
const LOOKS_MAX = 10;
/** Share of the drafts that are changed before they start. */
const CHANGED = 0.5;
/** Share of the batches that are cancelled while their first requests run. */
const REGRETTED = 0.3;
const REQUESTS_MAX = 6;

export class Batches {
  readonly #parts: BatchesParts;
  readonly #known: KnownBatch[] = [];

  constructor(parts: BatchesParts) {
    this.#parts = parts;
  }

  async submit(endpointId: string): Promise<void> {
    const { world, violate } = this.#parts;
    const { random } = world;
    const inputs = this.#inputs();
    const key = { "Idempotency-Key": `batch-${random.whole(0, 1e9)}` };
    const submittedAt = world.elapsedMs;
    const made = await this.#insist("POST", `/v2/${endpointId}/batch`, asRequests(inputs), key);
    const id = made?.body["id"];
    if (made?.status !== 200 || typeof id !== "string") return;
    const path = `/v2/${endpointId}/batch/${id}`;
    const batch = { endpointId, id, path, inputs, submittedAt, isCancelled: false, completed: 0 };
    if (random.chance(0.2)) {
      const again = await this.#insist("POST", `/v2/${endpointId}/batch`, asRequests(inputs), key);
      if (again?.status === 200 && again.body["id"] !== id) violate(`one idempotency key made two batches`);
    }
    if (random.chance(CHANGED) && !(await this.#change(batch))) return;
    // A draft that is started twice is started.
    const started = await this.#insist("POST", `${path}/finalize`);
    if (started?.status !== 200) return;
    this.#known.push(batch);
    if (!random.chance(REGRETTED)) return;
    await this.#awaitRun(batch);
    await this.#cancel(batch);
  }

  /** Until one of its requests runs, or for long enough. */
  async #awaitRun(batch: KnownBatch): Promise<void> {
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const views = await this.#readRequests(batch, false);
      if (views?.some(({ status }) => status === "IN_PROGRESS")) return;
      await pause(AGAIN_MS);
    }
  }

  #inputs(): unknown[] {
    const { random } = this.#parts.world;
    return Array.from({ length: random.whole(1, REQUESTS_MAX) }, () => ({ number: random.whole(0, 1e9) }));
  }

  /** Returns whether it is known what the draft has. */
  async #change(batch: KnownBatch): Promise<boolean> {
    const { random } = this.#parts.world;
    if (random.chance(0.5) && !(await this.#append(batch))) return false;
    const { inputs } = batch;
    if (random.chance(0.5)) await this.#remove(batch, random.whole(0, inputs.length - 1));
    await this.#readRequests(batch, true);
    return true;
  }

  /** A call that adds requests adds them as often as it is made, so nobody repeats it; of unsure ones the draft is cancelled. */
  async #append(batch: KnownBatch): Promise<boolean> {
    const { client, plan } = this.#parts;
    if (plan.faults.has("requestsRepeated")) return true;
    const added = this.#inputs();
    const answer = await client.call("POST", `${batch.path}/requests`, { requests: asRequests(added) });
    if (answer?.status === 200) batch.inputs.push(...added);
    else await this.#insist("POST", `${batch.path}/cancel`);
    return answer?.status === 200;
  }

  async #remove(batch: KnownBatch, index: number): Promise<void> {
    const views = await this.#readRequests(batch, true);
    const view = views?.[index];
    if (!view) return;
    const answer = await this.#insist("DELETE", `${batch.path}/requests/${view.id}`);
    // One that was answered with 404 had been removed by a call whose answer got lost.
    if (answer) batch.inputs.splice(index, 1);
  }

  async cancelOne(): Promise<void> {
    const batch = this.#any();
    if (batch) await this.#cancel(batch);
  }

  async #cancel(batch: KnownBatch): Promise<void> {
    batch.isCancelled = true;
    await this.#parts.client.call("POST", `${batch.path}/cancel`);
  }

  /** How far a batch is, what has come of its requests, or which batches there are. */
  async look(): Promise<void> {
    const batch = this.#any();
    if (!batch) return;
    const { world } = this.#parts;
    const look = world.random.pick([
      () => this.#readSummary(batch),
      () => this.#readRequests(batch, false),
      () => this.#list(batch.endpointId),
      () => this.#rename(batch),
    ]);
    await look();
  }

  #any(): KnownBatch | undefined {
    return this.#known.length === 0 ? undefined : this.#parts.world.random.pick(this.#known);
  }

  async #rename(batch: KnownBatch): Promise<void> {
    const name = `of ${batch.inputs.length}`;
    const answer = await this.#parts.client.call("PUT", batch.path, { name });
    if (answer?.status === 200 && answer.body["name"] !== name)
      this.#parts.violate(`${batch.path} was renamed, and is ${JSON.stringify(answer.body["name"])}`);
  }

  async #readSummary(batch: KnownBatch): Promise<Answer | undefined> {
    const answer = await this.#parts.client.call("GET", batch.path);
    if (answer?.status !== 200) return answer;
    checkSummary(batch, answer.body, this.#mayBePurged(batch), this.#parts.violate);
    return answer;
  }

  async #readRequests(batch: KnownBatch, isDraft: boolean): Promise<readonly BatchView[] | undefined> {
    const { client, violate, world } = this.#parts;
    const limit = world.random.pick([1, 2, 100]);
    const list = { path: `${batch.path}/requests`, member: "requests", limit };
    const views = await walkPages<BatchView>(client, list, violate);
    if (!views) return undefined;
    checkRequests(batch, views, { isDraft, isCut: batch.isCancelled || this.#mayBePurged(batch) }, violate);
    return views;
  }

  /** Each batch that the client knows is there, the newer ones first. */
  async #list(endpointId: string): Promise<void> {
    const { client, violate, world } = this.#parts;
    const known = this.#known.filter((batch) => batch.endpointId === endpointId);
    const limit = world.random.pick([1, 3, 50]);
    const list = { path: `/v2/${endpointId}/batch`, member: "batches", limit };
    const listed = await walkPages<{ readonly id: string }>(client, list, violate);
    if (!listed) return;
    const places = known.map(({ id }) => listed.findIndex((one) => one.id === id));
    if (places.includes(-1)) violate(`${known[places.indexOf(-1)]?.path} is not listed`);
    // A client has made its batches one after the other.
    else if (places.some((place, index) => place >= (places[index - 1] ?? Infinity)))
      violate(`the batches of ${endpointId} are listed in the order ${places.join(", ")}`);
  }

  /** Everything has ended: each request is there, in its order, with the output of its input, and counts as what it is. */
  async check(): Promise<void> {
    const { violate } = this.#parts;
    for (const endpointId of new Set(this.#known.map((batch) => batch.endpointId)))
      await this.#list(endpointId);
    for (const batch of this.#known) {
      const views = await this.#readRequests(batch, false);
      const summary = await this.#readSummary(batch);
      if (!views || summary?.status !== 200) {
        violate(`${batch.path} cannot be read: ${summary?.status}`);
        continue;
      }
      const open = views.find(({ status }) => status === "IN_QUEUE" || status === "IN_PROGRESS");
      if (open) violate(`request ${open.id} of ${batch.path} has not ended: ${open.status}`);
      const completed = views.filter(({ status }) => status === "COMPLETED").length;
      const counted = { requestInProgress: 0, requestCompleted: completed };
      for (const [what, count] of Object.entries(counted))
        if (summary.body[what] !== count)
          violate(`${batch.path} counts ${String(summary.body[what])} as ${what}, not ${count}`);
      const failed = batch.inputs.length - completed;
      if (summary.body["requestFailed"] !== failed)
        violate(
          `${batch.path} counts ${String(summary.body["requestFailed"])} as requestFailed, not ${failed}`,
        );
    }
  }

  #mayBePurged({ endpointId, submittedAt }: KnownBatch): boolean {
    return this.#parts.purges.mayHaveCancelled(endpointId, submittedAt);
  }

  /** A call that may be made any number of times, until it is answered. */
  async #insist(method: string, path: string, body?: unknown, headers = {}): Promise<Answer | undefined> {
    for (let tries = 0; tries < CALLS_MAX; tries += 1) {
      const answer = await this.#parts.client.call(method, path, body, headers);
      if (answer && answer.status < 500) return answer;
      await pause(AGAIN_MS);
    }
    return undefined;
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function asRequests(inputs: readonly unknown[]): readonly { readonly input: unknown }[] {
  return inputs.map((input) => ({ input }));
}
