/** The edge of one whole Edgerun is killed in the middle of batches, counts, webhooks and streams. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { BatchSummary } from "../../src/contract/batch.ts";
import type { RequestMetrics } from "../../src/contract/metrics.ts";
import { managementApi } from "../../standalone/management-api.ts";
import { BatchClient, returning } from "../support/batch-client.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { readEvents, type StreamEvent } from "../support/event-client.ts";
import { Gate } from "../support/gate.ts";
import { createEndpoint, createHelloEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";
import { untilLogged, verifierOf } from "../support/webhook-log.ts";
import { WebhookReceiver, type Received } from "../support/webhook-receiver.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
const WORKER = { dockerArgs: `"${process.execPath}" "${SCRIPT}"`, workersMax: 1 };
/** Three steps of the start of a batch, the last of them a small one. */
const LARGE_COUNT = 2_100;
const COUNTED = 20;
const CROWD = 60;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

let edgerun: BareEdgerun;
beforeAll(async () => {
  edgerun = await startBareEdgerun({ runtime: "process", options: ["--allow-private-webhooks"] });
});
afterAll(() => edgerun.stop());

const killEdge = (): void => void process.kill(edgerun.pids().edge, "SIGKILL");

test("while a batch starts: every request becomes one job", async ({ expect }) => {
  const endpointId = await createEndpoint(edgerun, { name: "batch", workersMax: 0 });
  const client = new BatchClient({ ...edgerun, endpointId });
  const { id } = await client.call<BatchSummary>("POST", "batch", returning(0, LARGE_COUNT));
  const finalizing = client.call("POST", `batch/${id}/finalize`).catch(() => "cut off");
  // oxlint-disable-next-line edgerun/no-sleeps -- so that the kill meets the start on its way
  await delay(20);
  killEdge();
  const outcome = await finalizing;
  console.info(`finalize when the edge was killed: ${outcome === "cut off" ? "cut off" : "answered"}`);
  expect(await client.insist("POST", `batch/${id}/finalize`)).toMatchObject({ requestTotal: LARGE_COUNT });
  const jobs = await client.allRequests(id);
  expect(new Set(jobs.map((job) => job.id)).size).toBe(LARGE_COUNT);
  expect(await client.call("GET", "health")).toMatchObject({ jobs: { inQueue: LARGE_COUNT } });
});

test("it has forgotten no job that it counted, and the usage of the day has them once", async ({
  expect,
}) => {
  const endpointId = await createEndpoint(edgerun, { name: "counted", ...WORKER });
  const client = new QueueClient({ ...edgerun, endpointId });
  const jobs = await Promise.all(numbers(COUNTED).map((number) => client.run({ mock_return: number })));
  await Promise.all(jobs.map(({ id }) => client.result(id)));
  killEdge();
  expect((await client.health()).jobs.completed).toBe(COUNTED);
  const metrics = await fetch(`${edgerun.baseUrl}/v2/${endpointId}/metrics/requests?window=1h`, {
    headers: { Authorization: `Bearer ${edgerun.apiKey}` },
  });
  expect((await metrics.json()) as RequestMetrics).toMatchObject({ requests: COUNTED, completed: COUNTED });

  type Usage = { readonly completed: number; readonly requests: number; readonly workerSeconds: number };
  const usage = async (): Promise<Usage | undefined> => {
    const query = `{ myself { usage(input: { endpointId: "${endpointId}", bucket: "day" })
      { completed requests workerSeconds } } }`;
    const api = managementApi(edgerun.baseUrl, edgerun.apiKey);
    return (await api.query<{ myself: { usage: Usage[] } }>(query)).myself.usage[0];
  };
  // The edge collects as soon as it is up again.
  await until(async () => (await usage())?.completed, "completed jobs in the usage", 60_000);
  expect(await usage()).toMatchObject({ completed: COUNTED, requests: COUNTED });
  expect((await usage())?.workerSeconds).toBeGreaterThan(0);
});

test("no webhook is lost, whether it was about to be sent or under way", async ({
  expect,
  onTestFinished,
}) => {
  const receiver = await WebhookReceiver.start();
  onTestFinished(() => receiver.stop());
  const client = new QueueClient({ ...edgerun, endpointId: await createHelloEndpoint(edgerun) });
  const verified = await verifierOf(edgerun);
  const underway = `${receiver.url}/hang,200/underway`;
  const { id: hanging } = await client.run({ name: "underway" }, { webhook: underway });
  await receiver.received("underway", 1);
  await client.run({ name: "first", seconds: 1 }); // the crowd gathers behind this one
  const crowd = `${receiver.url}/200/crowd`;
  const runs = numbers(CROWD).map((number) => client.run({ name: `crowd-${number}` }, { webhook: crowd }));
  const ids = (await Promise.all(runs)).map(({ id }) => id);
  const before = await receiver.received("crowd", 10);
  killEdge();
  const killedAt = Date.now();

  const [first, second] = await receiver.received("underway", 2);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  // Some may come a second time: their answers were lost with the edge.
  const missing = new Set(ids);
  let told: readonly Received[] = [];
  while (missing.size > 0) {
    const known = told.length;
    told = await receiver.received("crowd", known + 1);
    for (const call of told.slice(known)) missing.delete(verified(call).id);
  }
  for (const id of [hanging, ...ids.slice(0, 20)]) await untilLogged(client, id, "delivered");
  const resumedMs = Math.min(...told.slice(before.length).map(({ at }) => at)) - killedAt;
  console.info(
    `${before.length} of ${CROWD} webhooks had come at the kill, the next came ${resumedMs} ms later; the call ` +
      `under way was made again after ${(second?.at ?? 0) - killedAt} ms; ${told.length - CROWD} came a second time.`,
  );
});

describe("in the middle of a stream", () => {
  const outputOf = ({ data }: StreamEvent): unknown => (data as { output: unknown }).output;

  let endpointId: string;
  let client: QueueClient;
  beforeAll(async () => {
    endpointId = await createEndpoint(edgerun, { name: "streams", ...WORKER });
    client = new QueueClient({ ...edgerun, endpointId });
  });

  /** Resolves once a new agent serves the workers of the one that was killed. */
  async function untilAdopted(): Promise<void> {
    const log = join(edgerun.stateDirectory, "agent.log");
    await until(
      async () => (await readFile(log, "utf8")).includes("worker_adopted"),
      "worker_adopted",
      60_000,
    );
  }

  /** Resolves once the edge has been started again after the kill of now. */
  async function untilEdgeIsBack(): Promise<void> {
    const killed = edgerun.pids().edge;
    killEdge();
    await until(() => edgerun.pids().edge !== killed, "another edge", 60_000);
  }

  const kills = {
    // A chunk that finds no agent is lost, as with the SDK.
    agent: async () => {
      process.kill(edgerun.pids().agent, "SIGKILL");
      await untilAdopted();
    },
    edge: untilEdgeIsBack,
  };

  test.for(["agent", "edge"] as const)(
    "kill -9 of the %s: each chunk comes once",
    async (victim, { expect }) => {
      const gate = new Gate(edgerun.stateDirectory);
      const rest = { mock_until_rest: gate.file, mock_stream_rest: numbers(10) };
      const { id } = await client.run({ mock_stream: numbers(10), ...rest });
      const events: StreamEvent[] = [];
      for await (const event of readEvents({ ...edgerun, endpointId }, id)) {
        events.push(event);
        // They came while the handler waits: as they were yielded.
        if (events.length === 10) void kills[victim]().then(() => gate.open());
      }
      const status = events.pop();
      expect(events.map(outputOf)).toEqual([...numbers(10), ...numbers(10)]);
      expect(events.map((event) => event.id)).toEqual(numbers(20));
      expect(status).toMatchObject({ event: "status", data: { id, status: "COMPLETED", output: [] } });
    },
  );
});
