/** Cancelled jobs, end to end: how soon their handlers are told, and what that does to the jobs beside them. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { StopListener } from "../support/stop-listener.ts";

const WORKER = `"${process.execPath}" "${resolve(import.meta.dirname, "../support/worker-script.mjs")}"`;
const now = (): number => performance.timeOrigin + performance.now();

function describeDelays(delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`;
}

describe("from the cancel to the handler", () => {
  let edgerun: BareEdgerun;
  let listener: StopListener;
  beforeAll(async () => {
    [edgerun, listener] = await Promise.all([startBareEdgerun({ runtime: "process" }), StopListener.start()]);
  });
  afterAll(async () => {
    await edgerun.stop();
    await listener[Symbol.asyncDispose]();
  });

  async function clientOf(name: string, concurrency: number): Promise<QueueClient> {
    const env = { MOCK_CONCURRENCY: String(concurrency) };
    const endpointId = await createEndpoint(edgerun, { name, dockerArgs: WORKER, env });
    return new QueueClient({ ...edgerun, endpointId });
  }

  /** Cancels a job; answers how long it took until its handler was told. */
  async function cancel(client: QueueClient, jobId: string): Promise<number> {
    const startedAt = now();
    await client.cancel(jobId);
    return (await listener.stopped(jobId)) - startedAt;
  }

  test("a hundred running jobs are told soon, one after the other", async ({ expect }) => {
    const client = await clientOf("hundred", 100);
    const input = { mock_never: true, mock_stop_to: listener.address };
    const jobs = await Promise.all(Array.from({ length: 100 }, () => client.run(input)));
    await Promise.all(jobs.map(({ id }) => client.untilRunning(id)));
    const delays: number[] = [];
    for (const { id } of jobs) delays.push(await cancel(client, id));
    console.info(`from the cancel of one of 100 running jobs to its handler: ${describeDelays(delays)}`);
    expect(delays.every((delay) => delay < 2_000)).toBe(true);
  });

  test("a job that has only just begun is told soon", async ({ expect }) => {
    const client = await clientOf("fresh", 1);
    const delays: number[] = [];
    for (let count = 0; count < 30; count += 1) {
      const { id } = await client.run({ mock_never: true, mock_stop_to: listener.address });
      while ((await client.status(id)).status === "IN_QUEUE");
      delays.push(await cancel(client, id));
    }
    console.info(`from the cancel of a job just begun to its handler: ${describeDelays(delays)}`);
    expect(delays.every((delay) => delay < 2_000)).toBe(true);
  });
});
