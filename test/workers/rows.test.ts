/** What storage is billed by: rows written in the whole life of a job, alarms and checkpoints included. */
import { afterEach, beforeEach, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, fireAlarm, passTime, untilHeld, untilWebhooksRest } from "./object.ts";
import { webhookTarget } from "./webhook-target.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

const JOBS = 200;
/** So many that the rows of a quiet period, which are few and fixed, hardly show. */
const LONE_JOBS = 50;
/** As many at once as the limit of run admits. */
const CROWD = 200;
const SLOTS = 10;
/** What the alarms of a slow machine may add to each job, where a row more in its life would add a whole one. */
const SHARE_OF_ALARMS = 0.5;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function warmEndpoint() {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  await call("POST", `/v2/${endpointId}/run`, { input: "first" });
  const workerId = await agent.bringUpWorker(endpointId);
  await agent.complete(endpointId, await agent.take(endpointId, workerId), 0);
  return { endpointId, agent, workerId };
}

/** Rows written by `work`, until the last row of it is removed, for each job. */
async function rowsPerJob(endpointId: string, jobs: number, work: () => Promise<void>): Promise<number> {
  const stub = endpointObject(endpointId);
  const before = (await stub.vitals()).rowsWritten;
  await work();
  passTime(31 * 60_000);
  await fireAlarm(endpointId);
  return ((await stub.vitals()).rowsWritten - before) / jobs;
}

test("a job of a backlog costs three rows, insert, finish and remove, and a share of one for each exchange", async ({
  expect,
}) => {
  const { endpointId, agent, workerId } = await warmEndpoint();
  const rows = await rowsPerJob(endpointId, JOBS, async () => {
    for (let sent = 0; sent < JOBS; sent += CROWD) {
      const crowd = Array.from({ length: CROWD }, () => call("POST", `/v2/${endpointId}/run`, { input: 1 }));
      await Promise.all(crowd);
    }
    for (let left = JOBS; left > 0;) {
      const { jobs } = await agent.exchange(endpointId, { slots: [{ workerId, free: SLOTS }] });
      await Promise.all(jobs.map((job) => agent.complete(endpointId, job, 1)));
      left -= jobs.length;
    }
  });
  console.info(`rows written per job of a backlog: ${rows}`);
  expect(rows).toBeLessThan(3 + SHARE_OF_ALARMS + 1 / SLOTS);
});

test("a job that finds a worker waiting costs three", async ({ expect }) => {
  const { endpointId, agent, workerId } = await warmEndpoint();
  const rows = await rowsPerJob(endpointId, LONE_JOBS, async () => {
    for (let count = 0; count < LONE_JOBS; count += 1) {
      const waiting = agent.take(endpointId, workerId);
      await untilHeld(endpointId);
      await call("POST", `/v2/${endpointId}/run`, { input: 1 });
      await agent.complete(endpointId, await waiting, 1);
    }
  });
  console.info(`rows written per job when a worker waits: ${rows}`);
  expect(rows).toBeLessThan(3 + SHARE_OF_ALARMS);
});

/** Rows that a webhook adds to a job, when so many jobs end in one turn. */
async function rowsPerWebhook(jobsPerTurn: number, jobs: number): Promise<number> {
  const { webhook } = webhookTarget();
  const without = await rowsPerJobInTurns(jobsPerTurn, jobs, {});
  const withWebhook = await rowsPerJobInTurns(jobsPerTurn, jobs, { webhook });
  console.info(
    `rows written per job when ${jobsPerTurn} end in one turn: ${without} without a webhook, ${withWebhook} with one`,
  );
  return withWebhook - without;
}

async function rowsPerJobInTurns(jobsPerTurn: number, jobs: number, options: object): Promise<number> {
  const { endpointId, agent, workerId } = await warmEndpoint();
  const stub = endpointObject(endpointId);
  const before = (await stub.vitals()).rowsWritten;
  for (let left = jobs; left > 0; left -= jobsPerTurn) {
    const submit = () => call("POST", `/v2/${endpointId}/run`, { input: 1, ...options });
    await Promise.all(Array.from({ length: jobsPerTurn }, submit));
    const taken = await agent.exchange(endpointId, { slots: [{ workerId, free: jobsPerTurn }] });
    const reports = taken.jobs.map(({ id: jobId, attempt }) => ({
      kind: "completed" as const,
      jobId,
      attempt,
      workerId,
      output: 1,
    }));
    await agent.exchange(endpointId, { reports });
    await untilWebhooksRest(endpointId);
  }
  passTime(31 * 60_000);
  await fireAlarm(endpointId);
  return ((await stub.vitals()).rowsWritten - before) / jobs;
}

test("a webhook costs less than an eighth of a row when 64 jobs end together", async ({ expect }) => {
  expect(await rowsPerWebhook(64, 256)).toBeLessThan(1 / 8);
});

test("a webhook of a job that ends alone costs one row: its outcome", async ({ expect }) => {
  expect(await rowsPerWebhook(1, 16)).toBeLessThan(1.5);
});
