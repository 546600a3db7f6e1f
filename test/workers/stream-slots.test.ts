/** The concurrent limit of streams holds wherever they wait. The clock stands still, so no slot times out. */
import { afterEach, beforeEach, test, vi } from "vitest";
import { RATE_LIMITS } from "../../src/contract/rate-limits.ts";
import type { EndpointObject } from "../../src/endpoint/endpoint-object.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelsOf, endpointObject, evict } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, openEvents, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const FULL = RATE_LIMITS.stream.concurrent ?? 0;
const WAITING = 4;

async function crowdedStream() {
  const endpointId = await createEndpoint();
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const agent = await ScriptedAgent.join(api);
  const job = await agent.take(endpointId, await agent.bringUpWorker(endpointId));
  const path = `/v2/${endpointId}/stream/${job.id}`;
  const object = () => endpointObject(endpointId) as unknown as Pick<EndpointObject, "drain" | "readStream">;
  /** Readers between two reads, so many that `WAITING` others make the limit full. */
  const crowd = () =>
    Promise.all(Array.from({ length: FULL - WAITING }, () => object().readStream(job.id, 0, 0, null)));
  const isFull = async () => (await object().drain(job.id, 0, null)).kind === "rate_limited";
  const untilOnChannels = (count: number) => channelsOf(endpointId, "stream", count);
  return { endpointId, agent, job, path, crowd, isFull, untilOnChannels };
}

test("polls and event streams keep one slot each while they wait", async ({ expect }) => {
  const { endpointId, agent, job, path, crowd, isFull, untilOnChannels } = await crowdedStream();
  await using events = await openEvents(path);
  const polls = [1, 2, 3].map(() => call("GET", `${path}?wait=60000`));
  await untilOnChannels(WAITING);
  await crowd();
  expect(await isFull()).toBe(true);
  await evict(endpointId); // sockets stay, and are the slots
  await crowd();
  expect(await isFull()).toBe(true);

  await agent.stream(endpointId, job, 1, ["a"]);
  const first = await Promise.race(polls);
  expect(first.body["stream"]).toEqual([{ output: "a" }]);
  expect((await events.next())?.data).toEqual({ output: "a" });
  await untilOnChannels(WAITING - 1);
  expect(await isFull()).toBe(false);
  const another = call("GET", `${path}?wait=60000`);
  await untilOnChannels(WAITING);
  expect(await isFull()).toBe(true);

  await agent.complete(endpointId, job, "done");
  const ended = await Promise.all([...polls, another]);
  expect(ended.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await isFull()).toBe(false);
});

test("an event stream frees its slot when its client leaves", async ({ expect }) => {
  const { path, crowd, isFull, untilOnChannels } = await crowdedStream();
  const streams = await Promise.all([1, 2, 3, 4].map(() => openEvents(path)));
  await untilOnChannels(WAITING);
  await crowd();
  expect(await isFull()).toBe(true);
  await streams.pop()?.[Symbol.asyncDispose]();
  await untilOnChannels(WAITING - 1);
  await vi.waitUntil(async () => !(await isFull()));
  for (const events of streams) await events[Symbol.asyncDispose]();
  await untilOnChannels(0);
});
