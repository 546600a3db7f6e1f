/** A client that reads logs of webhooks, and has webhooks sent once more. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { World } from "../world/world.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Webhooks } from "./webhooks.ts";

export type WebhookCallsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly known: { readonly all: () => readonly KnownJob[] };
  readonly webhooks: Webhooks;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

type Log = {
  readonly id: string;
  readonly webhook: string | null;
  readonly state: "none" | "pending" | "delivered" | "failed";
  readonly attempts: readonly { readonly at: number; readonly statusCode?: number }[];
  readonly nextAttemptAt?: number;
};

const OPEN = new Set(["IN_QUEUE", "IN_PROGRESS"]);
const REDELIVERING = 0.6;
/** As many attempts as a log shows. */
const LOG_MAX = 12;

export class WebhookCalls {
  readonly #parts: WebhookCallsParts;

  constructor(parts: WebhookCallsParts) {
    this.#parts = parts;
  }

  /** Of a job with a webhook: its log, or the webhook once more. */
  async act(): Promise<void> {
    const { world, known } = this.#parts;
    const hooked = known.all().filter(({ hook }) => hook !== null);
    if (hooked.length === 0) return;
    const job = world.random.pick(hooked);
    if (world.random.chance(REDELIVERING)) await this.#redeliver(job);
    else await this.read(job);
  }

  async #redeliver(job: KnownJob): Promise<void> {
    const { client, webhooks, violate } = this.#parts;
    const call = webhooks.redeliveryCalled(decodeJobId(job.jobId)?.nonce ?? "");
    const isOpen = OPEN.has(job.read.at(-1) ?? "IN_QUEUE");
    const answer = await client.call("POST", `/v2/${job.endpointId}/webhooks/${job.jobId}/redeliver`);
    if (!answer) return;
    if (answer.status === 200) {
      call.isAccepted = true;
      this.#check(job, answer.body as Log);
    } else if (answer.status === 400 && !isOpen && !job.isRetryRequested && job.read.at(-1) !== "CANCELLED")
      violate(
        `${job.jobId} has ended, and its webhook is not sent once more: ${JSON.stringify(answer.body)}`,
      );
  }

  /** What the log says of a job with a webhook. */
  async read(job: KnownJob, isOver = false): Promise<void> {
    const { client, webhooks, violate } = this.#parts;
    const nonce = decodeJobId(job.jobId)?.nonce ?? "";
    const heard = webhooks.heardCount(nonce);
    const answer = await client.call("GET", `/v2/${job.endpointId}/webhooks/${job.jobId}`);
    if (answer?.status !== 200) return;
    const log = answer.body as Log;
    this.#check(job, log);
    if (isOver && log.state === "pending")
      violate(`the webhook of ${job.jobId} is pending though all is over`);
    if (job.isRetryRequested) return; // the log is that of the last end
    const taken = log.attempts.filter(({ statusCode }) => statusCode === 200).length;
    const told = `the log of the webhook of ${job.jobId} has ${taken} calls that were taken`;
    if (taken > webhooks.takenCount(nonce)) violate(`${told}, which are more than there were`);
    if (taken < heard && log.attempts.length < LOG_MAX) violate(`${told}, of at least ${heard}`);
  }

  #check({ jobId, hook }: KnownJob, { id, webhook, state, attempts, nextAttemptAt }: Log): void {
    const { violate } = this.#parts;
    const told = `the log of the webhook of ${jobId}`;
    if (id !== jobId || webhook !== hook) violate(`${told} is that of ${id} to ${webhook}`);
    if ((state === "pending") !== (nextAttemptAt !== undefined))
      violate(`${told} is ${state}, next at ${nextAttemptAt}`);
    const isTaken = attempts.at(-1)?.statusCode === 200;
    if (state === "none" ? attempts.length > 0 : state !== "pending" && (state === "delivered") !== isTaken)
      violate(`${told} is ${state} after ${JSON.stringify(attempts)}`);
    if (attempts.length > LOG_MAX) violate(`${told} has ${attempts.length} attempts`);
  }
}
