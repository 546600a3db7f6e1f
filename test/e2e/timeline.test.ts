/** The timeline of a job on a whole Edgerun: a real agent tells it, in the time of the edge. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "vitest";
import type { TimelineEvent } from "../../src/contract/job.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));

let edgerun: Edgerun;
let endpointId: string;
let client: QueueClient;

beforeAll(async () => {
  edgerun = await startEdgerun({ runtime: "process" });
  endpointId = await createEndpoint(edgerun, {
    name: "timeline",
    dockerArgs: `"${process.execPath}" "${SCRIPT}"`,
  });
  client = new QueueClient({ ...edgerun, endpointId });
});
afterAll(() => edgerun.stop());

async function timelineOf(input: object): Promise<readonly TimelineEvent[]> {
  const { id } = await client.run(input);
  await client.result(id);
  return (await client.timeline(id)) as readonly TimelineEvent[];
}

test("a cold start, then a warm worker", async ({ expect }) => {
  const cold = await timelineOf({ mock_delay: 0.3, mock_return: 1 });
  const names = (events: readonly TimelineEvent[]) => events.map(({ event }) => event);
  expect(names(cold)).toEqual([
    "submitted",
    "container_started",
    "worker_ready",
    "taken",
    "handler_started",
    "handler_finished",
    "finished",
  ]);
  const times = cold.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const at = (name: string) => cold.find(({ event }) => event === name)?.at ?? 0;
  expect(at("handler_finished") - at("handler_started")).toBeGreaterThanOrEqual(290);
  expect(cold.at(-1)?.status).toBe("COMPLETED");

  const warm = await timelineOf({ mock_return: 2 });
  expect(names(warm)).toEqual(["submitted", "taken", "handler_started", "handler_finished", "finished"]);
});
