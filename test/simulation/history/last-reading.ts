/** What clients of an account read when all is over, and whether it fits what they read before and what there is. */
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { activityIn, countedJobs, endpointOf, storagesOf } from "./endpoint-rows.ts";
import type { Counts } from "./metrics-reader.ts";
import { AT_ONCE } from "./job-calls.ts";
import type { Users } from "./users.ts";
import type { Workload } from "./workload.ts";

export type LastReadingParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly users: Users;
  readonly violate: (what: string) => void;
};

export class LastReading {
  readonly #parts: LastReadingParts;
  #leftCount = 0;

  constructor(parts: LastReadingParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#leftCount === 0;
  }

  start(): void {
    const { world, users } = this.#parts;
    for (const [index, workload] of users.workloads.entries()) {
      this.#leftCount += 1;
      const { client } = workload;
      client.run(world, async () => {
        await this.#readJobs(workload);
        await workload.batches.check();
        workload.openai.check();
        if (client === users.account.firstClient) {
          await this.#checkCounts(client);
          await this.#checkMetrics(workload);
          for (const endpointId of users.account.endpointIds) await workload.lists.check(endpointId);
        }
        await users.logUsers[index]?.check();
        this.#leftCount -= 1;
      });
    }
  }

  async #readJobs({ client, jobs, streams, webhooks }: Workload): Promise<void> {
    for (const job of client.jobs) {
      const answer = await jobs.read(job, AT_ONCE); // without waiting for those of low priority, which may never begin
      if (!answer || answer.status >= 500)
        this.#parts.violate(`${job.jobId} cannot be read at the end: ${answer?.status}`);
      if (answer?.status === 200) await streams.check(job);
      if (job.hook !== null) await webhooks.read(job, true);
    }
  }

  /** What metrics count is what has become of rows: of a day, and since the endpoint exists. */
  async #checkMetrics({ metrics }: Workload): Promise<void> {
    const { edge, users } = this.#parts;
    const { account } = users;
    const exposed = await metrics.readExposition();
    for (const endpointId of account.endpointIds) {
      const storages = storagesOf(edge, endpointId);
      if (storages.length === 0) continue;
      const found = sumOf(storages.map(activityIn));
      const day = account.plan.faults.has("clockSkew") ? undefined : await metrics.readCounts(endpointId);
      this.#compare(endpointId, day, found);
      const { requests, completed, failed, timedOut } = found;
      this.#compare(endpointId, exposed.get(endpointId), {
        requests,
        completed,
        failed,
        timed_out: timedOut,
      });
    }
  }

  #compare(endpointId: string, counts: Counts | undefined, found: Counts): void {
    for (const [name, count] of Object.entries(counts ? found : {}))
      if (counts?.[name] !== count)
        this.#parts.violate(`metrics of ${endpointId} have ${counts?.[name]} as ${name}, not ${count}`);
  }

  /** What counts is what there is: of jobs, what their rows say, and of requests nothing, since all are over. */
  async #checkCounts(client: SimulatedClient): Promise<void> {
    const { edge, users, violate } = this.#parts;
    const { account } = users;
    const endpointIds = new Set([...edge.endpoints.objects.values()].map(({ name }) => endpointOf(name)));
    for (const endpointId of endpointIds) {
      if (!account.owns(endpointId)) continue;
      const storages = storagesOf(edge, endpointId);
      const answer = await client.call("GET", `/v2/${endpointId}/health`);
      const counted = answer?.status === 200 ? answer.body["jobs"] : undefined;
      if (counted === undefined) continue;
      const isOfRequests = endpointId === account.requestEndpointId;
      const found = isOfRequests ? { inProgress: 0, inQueue: 0 } : sumOf(storages.map(countedJobs));
      for (const [what, count] of Object.entries(found)) {
        const shown = (counted as Record<string, number>)[what];
        if (shown !== count) violate(`${endpointId} counts ${shown} as ${what}, not ${count}`);
      }
    }
  }
}

function sumOf<Name extends string>(counts: readonly Readonly<Record<Name, number>>[]): Record<Name, number> {
  const sum: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((one) => Object.entries<number>(one)))
    sum[name] = (sum[name] ?? 0) + count;
  return sum as Record<Name, number>;
}
