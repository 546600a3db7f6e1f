/** The timeline of a job on a whole Edgerun: a real agent tells it, in the time of the edge. */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "vitest";
import type { TimelineEvent } from "../../src/contract/job.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { Gate } from "../support/gate.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
const LOOK_AGAIN_MS = 20;
/** The clock of the edge and the age that the agent tells are in whole ms. */
const ROUNDING_MS = 2;

let edgerun: BareEdgerun;
let endpointId: string;
let client: QueueClient;

beforeAll(async () => {
  edgerun = await startBareEdgerun({ runtime: "process" });
  endpointId = await createEndpoint(edgerun, {
    name: "timeline",
    dockerArgs: `"${process.execPath}" "${SCRIPT}"`,
  });
  client = new QueueClient({ ...edgerun, endpointId });
});
afterAll(() => edgerun.stop());

const timelineOf = (id: string) => client.timeline(id) as Promise<readonly TimelineEvent[]>;
const names = (events: readonly TimelineEvent[]) => events.map(({ event }) => event);

test("a cold start, then a warm worker", async ({ expect }) => {
  const gate = new Gate(edgerun.stateDirectory);
  const { id } = await client.run({ mock_until: gate.file, mock_return: 1 });
  while (!names(await timelineOf(id)).includes("handler_started")) await delay(LOOK_AGAIN_MS);
  const openedAt = Date.now();
  gate.open();
  await client.result(id);

  const cold = await timelineOf(id);
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
  expect(at("handler_started")).toBeLessThanOrEqual(openedAt);
  expect(at("handler_finished")).toBeGreaterThanOrEqual(openedAt - ROUNDING_MS);
  expect(cold.at(-1)?.status).toBe("COMPLETED");

  const second = await client.run({ mock_return: 2 });
  await client.result(second.id);
  const warm = await timelineOf(second.id);
  expect(names(warm)).toEqual(["submitted", "taken", "handler_started", "handler_finished", "finished"]);
});
