/** A client that asks for all that a status can do for jobs of its own: their timelines, and another time to live. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";

export type StatusUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly endpointIds: readonly string[];
  /** When the job has ended last, true time in ms of the history; `Infinity` while it has not. */
  readonly endedAt: (jobId: string) => number;
  readonly violate: (what: string) => void;
};

type Event = {
  readonly event: string;
  readonly at: number;
  readonly attempt?: number;
  readonly status?: string;
};
type View = {
  readonly status: string;
  readonly retries?: number;
  readonly timeline?: readonly Event[];
  readonly output?: { readonly s3Config?: unknown };
};
type OwnJob = { readonly path: string; readonly jobId: string; readonly s3Config: unknown };

const JOBS = 3;
const READS = 3;
const PAUSE_MS = 2_000;
const CONFIGURED = 0.5;
/** What a status sets. */
const TTL_MS = 10_000;
/** What times may differ by, beside what servers differ by. */
const SLACK_MS = 100;
/** Retention of a result. */
const RETENTION_MS = 30 * 60_000;
const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]);

export class StatusUser {
  readonly #parts: StatusUserParts;
  #isOver = false;

  constructor(parts: StatusUserParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world } = this.#parts;
    client.run(world, async () => {
      for (let left = JOBS; left > 0; left -= 1) await this.#useOne();
      this.#isOver = true;
    });
  }

  async #useOne(): Promise<void> {
    const { world } = this.#parts;
    const job = await this.#submit();
    if (!job) return;
    for (let left = READS; left > 0; left -= 1) {
      await pause(world.random.delay(PAUSE_MS));
      await this.#readTimeline(job);
    }
    await this.#expire(job);
  }

  async #submit(): Promise<OwnJob | undefined> {
    const { client, world, endpointIds } = this.#parts;
    const { random } = world;
    const number = random.whole(0, 1e9);
    const s3Config = random.chance(CONFIGURED) ? { bucketName: `bucket ${number}` } : undefined;
    const endpointId = random.pick(endpointIds);
    const body = { input: { number }, ...(s3Config && { s3Config }) };
    const answer = await client.call("POST", `/v2/${endpointId}/run`, body);
    if (answer?.status !== 200) return undefined;
    const jobId = String(answer.body["id"]);
    return { path: `/v2/${endpointId}/status/${jobId}`, jobId, s3Config };
  }

  async #readTimeline(job: OwnJob): Promise<void> {
    const answer = await this.#parts.client.call("GET", `${job.path}?timeline=1`);
    if (answer?.status !== 200) return;
    const view = answer.body as unknown as View;
    this.#checkTimeline(job, view);
    const given = JSON.stringify(view.output?.s3Config);
    if (view.status === "COMPLETED" && view.output && given !== JSON.stringify(job.s3Config))
      this.#parts.violate(
        `${job.jobId} was run with the storage ${given} of ${JSON.stringify(job.s3Config)}`,
      );
  }

  /** The events are in order, and those of one kind as often as the job says; the state may have changed between. */
  #checkTimeline({ jobId }: OwnJob, { status, timeline }: View): void {
    if (!timeline) return this.#parts.violate(`${jobId} has no timeline`);
    const wrong = (why: string): void =>
      this.#parts.violate(`the timeline of ${jobId}, ${status}, ${why}: ${JSON.stringify(timeline)}`);
    if (timeline.some(({ at }, index) => at < (timeline[index - 1]?.at ?? 0))) wrong("is not in order");
    const named = (name: string): readonly Event[] => timeline.filter(({ event }) => event === name);
    if (named("submitted").length !== 1) wrong("has not one submission");
    const attempts = named("taken").map(({ attempt }) => attempt);
    if (new Set(attempts).size !== attempts.length) wrong("has an attempt twice");
    const ends = [...named("finished"), ...named("cancelled")];
    if (ends.length > named("retried").length + 1) wrong("has too many ends");
    // The view was made before the timeline.
    const isEnded = ends.length > named("retried").length;
    if (ENDED.has(status) && !isEnded && named("retried").length === 0) wrong("lacks the end");
    if (ENDED.has(status) && named("retried").length === 0) this.#checkEnd(status, ends, wrong);
    if (status === "IN_PROGRESS" && attempts.length === 0) wrong("lacks the attempt that runs");
  }

  #checkEnd(status: string, ends: readonly Event[], wrong: (why: string) => void): void {
    const said = ends.map((end) => end.status ?? "CANCELLED");
    if (said.some((one) => one !== status)) wrong("has another end");
  }

  /** The job stays for its new time to live, unless the result ends before, and no longer. */
  async #expire({ path, jobId }: OwnJob): Promise<void> {
    const { client, world, plan, violate, endedAt } = this.#parts;
    if (!world.random.chance(0.5)) return;
    const sentAt = world.elapsedMs;
    const answer = await client.call("GET", `${path}?ttl=${TTL_MS}`);
    if (answer?.status !== 200) return;
    const answeredAt = world.elapsedMs;
    const skewMs = 2 * (plan.faults.get("clockSkew") ?? 0) + SLACK_MS;
    await pause(Math.max(0, sentAt + TTL_MS / 2 - world.elapsedMs));
    const between = await client.call("GET", path);
    const isEarly = world.elapsedMs < Math.min(sentAt + TTL_MS - skewMs, endedAt(jobId) + RETENTION_MS);
    if (between?.status === 404 && isEarly) violate(`${jobId} is gone before its ttl of ${TTL_MS} ms`);
    await pause(Math.max(0, answeredAt + TTL_MS + skewMs - world.elapsedMs));
    const late = await client.call("GET", path);
    const isRepeated = plan.faults.has("requestsRepeated") || plan.faults.has("slowNetwork");
    if (late?.status === 200 && !isRepeated)
      violate(`${jobId} can be read after its ttl of ${TTL_MS} ms: ${JSON.stringify(late.body)}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
