/** The low lane: behind normal jobs, and yet not starved by them. */
import { afterEach, beforeEach, test, vi } from "vitest";
import { inputs, warmBatchClient } from "./batch-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { evict } from "./object.ts";
import { LOW_PRIORITY_EVERY } from "../../src/domain/jobs/priorities.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const low = { policy: { lowPriority: true } };

async function crowdedQueue() {
  const { client, agent, workerId, take } = await warmBatchClient(api);
  const lows = await client.start([
    { input: "low 1", ...low },
    { input: "low 2", ...low },
  ]);
  const normals = await client.start(inputs(60));
  const idsOf = async (batchId: string) =>
    (await client.requests(batchId, "?limit=60")).requests.map(({ id }) => id);
  const positionOf = async (jobId = "") => {
    const { body } = await client.call("GET", `status/${jobId}`);
    return (body["queue"] as { position: number }).position;
  };
  const lose = async (jobId = "") => {
    const lost = { kind: "lost", jobId, attempt: 1, workerId, reason: "gone." } as const;
    await agent.report(client.endpointId, lost);
  };
  return { client, take, lose, positionOf, lowIds: await idsOf(lows), normalIds: await idsOf(normals) };
}

test("every twentieth claim is a low-priority job, whether jobs are claimed one by one or many at a time", async ({
  expect,
}) => {
  const { take, lowIds } = await crowdedQueue();
  const taken: string[] = [];
  for (const count of [1, 1, 5, 30, 10]) taken.push(...(await take(count)).map(({ id }) => id));
  expect(lowIds.map((id) => taken.indexOf(id) + 1)).toEqual([LOW_PRIORITY_EVERY, 2 * LOW_PRIORITY_EVERY]);
});

test("a queued job's position is the number of the claim that takes it", async ({ expect }) => {
  const { take, positionOf, lowIds, normalIds } = await crowdedQueue();
  await take(3);
  expect(await Promise.all(lowIds.map(positionOf))).toEqual([17, 37]);
  expect(await Promise.all([3, 18, 19, 37, 38].map((index) => positionOf(normalIds[index])))).toEqual([
    1, 16, 18, 36, 38,
  ]);
  await take(17);
  expect(await positionOf(lowIds[1])).toBe(20);
});

test("jobs that lost workers had go first, and count in the positions of others", async ({ expect }) => {
  const { client, take, lose, positionOf, normalIds } = await crowdedQueue();
  await take(3);
  for (const index of [2, 1]) await lose(normalIds[index]);
  const positions = () => Promise.all([1, 2, 3, 4].map((index) => positionOf(normalIds[index])));
  expect(await positions()).toEqual([1, 2, 3, 4]);
  await evict(client.endpointId);
  expect(await positions()).toEqual([1, 2, 3, 4]);
  expect((await take(3)).map(({ id }) => id)).toEqual(normalIds.slice(1, 4));
});

test("an eviction loses at most the count of normal jobs in a row", async ({ expect }) => {
  const { client, take, positionOf, lowIds } = await crowdedQueue();
  await take(3);
  await evict(client.endpointId);
  expect(await positionOf(lowIds[0])).toBe(20);
  expect((await take(20)).at(-1)?.id).toBe(lowIds[0]);
});
