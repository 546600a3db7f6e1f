/**
 * The npm package runpod-sdk, unmodified, against an endpoint of the hello worker.
 *
 *   node test/clients/runpod-sdk.mjs --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID
 *
 * Prints a line per check; exits with 1 at the first difference.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import runpodSdk from "runpod-sdk";

const text = { type: "string" };
const { values } = parseArgs({ options: { "base-url": text, "api-key": text, endpoint: text } });
const { "base-url": baseUrl, "api-key": apiKey, endpoint: endpointId } = values;
const endpoint = runpodSdk(apiKey, { baseUrl }).endpoint(endpointId);

const JOB_LIMIT_MS = 60_000;
const HEALTH_SHAPE = {
  jobs: ["completed", "failed", "inProgress", "inQueue", "retried"],
  workers: ["idle", "initializing", "ready", "running", "throttled", "unhealthy"],
};

async function check(name, body) {
  try {
    await body();
  } catch (error) {
    process.stderr.write(`DIFFERENT  ${name}\n${error.stack}\n`);
    process.exit(1);
  }
  process.stdout.write(`ok         ${name}\n`);
}

/** Polls the status until it is one of the wanted ones. */
async function statusOf(id, ...wanted) {
  for (let waitedMs = 0; waitedMs < JOB_LIMIT_MS; waitedMs += 100) {
    const status = await endpoint.status(id);
    if (wanted.includes(status.status)) return status;
    await sleep(100);
  }
  throw new Error(`job ${id} never became ${wanted.join(" or ")}`);
}

/** A final answer carries its times as whole milliseconds and names its worker. */
function assertFinal(answer, expected) {
  const { delayTime, executionTime, workerId, ...rest } = answer;
  for (const time of [delayTime, executionTime]) {
    assert(Number.isInteger(time) && time >= 0, `not whole milliseconds: ${time}`);
  }
  assert.match(workerId, /^[A-Za-z0-9_-]+$/);
  assert.deepEqual(rest, expected);
}

function assertHealth(health) {
  // Limits and usage stand beside them; clients that know nothing of those read past them.
  for (const [part, names] of Object.entries(HEALTH_SHAPE)) {
    assert.deepEqual(Object.keys(health[part]).sort(), names);
    for (const count of Object.values(health[part])) assert(Number.isInteger(count) && count >= 0);
  }
}

const before = await endpoint.health();

await check("run answers at once with an id, status follows the job to its output", async () => {
  const queued = await endpoint.run({ input: { name: "Ada" } });
  assert.deepEqual(queued, { id: queued.id, status: "IN_QUEUE" });
  assert.match(queued.id, /^[A-Za-z0-9_-]+$/);
  const status = await statusOf(queued.id, "COMPLETED", "FAILED");
  const output = { greeting: "Hello, Ada!" };
  assertFinal(status, {
    id: queued.id,
    status: "COMPLETED",
    output,
    started: true,
    completed: true,
    succeeded: true,
  });
  const again = await endpoint.statusSync(queued.id);
  assert.deepEqual(again, status);
});

await check("runSync answers with the output", async () => {
  const answer = await endpoint.runSync({ input: { name: "Grace" } });
  assert.match(answer.id, /^sync-[A-Za-z0-9_-]+$/);
  const output = { greeting: "Hello, Grace!" };
  assertFinal(answer, {
    id: answer.id,
    status: "COMPLETED",
    output,
    started: true,
    completed: true,
    succeeded: true,
  });
});

await check("runSync goes on waiting through status-sync when its time is short", async () => {
  const first = await endpoint.run({ input: { seconds: 5, name: "patience" } });
  const waited = await endpoint.statusSync(first.id, 1_000);
  assert.equal(waited.completed, false);
  const answer = await endpoint.runSync({ input: {} });
  assert.deepEqual(answer.output, { greeting: "Hello, world!" });
  const { output } = await statusOf(first.id, "COMPLETED");
  assert.deepEqual(output, { greeting: "Hello, patience!" });
});

await check("a failed job says why, and has no output", async () => {
  const answer = await endpoint.runSync({ input: { fail: "out of greetings" } });
  assert.match(answer.error, /out of greetings/);
  assertFinal(answer, {
    id: answer.id,
    status: "FAILED",
    error: answer.error,
    started: true,
    completed: true,
    succeeded: false,
  });
});

await check("progress shows in the status, cancel ends a running job at once", async () => {
  const { id } = await endpoint.run({ input: { seconds: 600 } });
  await statusOf(id, "IN_PROGRESS");
  let status = await endpoint.status(id);
  for (let turn = 0; status.output === undefined && turn < 100; turn++) {
    await sleep(100);
    status = await endpoint.status(id);
  }
  assert.match(status.output, /^\d+ of 600 seconds$/);
  assert.deepEqual(await endpoint.cancel(id), { id, status: "CANCELLED" });
  const cancelled = await endpoint.status(id);
  assert.equal(cancelled.status, "CANCELLED");
  assert.equal(cancelled.completed, true);
  assert.equal(cancelled.output, undefined);
  assert.deepEqual(await endpoint.cancel(id), { id, status: "CANCELLED" });
});

await check("health counts jobs and workers", async () => {
  assertHealth(before);
  const after = await endpoint.health();
  assertHealth(after);
  assert(after.jobs.completed >= before.jobs.completed + 4, `completed: ${JSON.stringify(after.jobs)}`);
  assert(after.jobs.failed >= before.jobs.failed + 1, `failed: ${JSON.stringify(after.jobs)}`);
});

await check("what is wrong is refused with its HTTP status", async () => {
  const stranger = runpodSdk("wrong-key", { baseUrl }).endpoint(endpointId);
  await assert.rejects(stranger.health(), /401/);
  await assert.rejects(endpoint.status("no-such-job"), /404/);
  await assert.rejects(runpodSdk(apiKey, { baseUrl }).endpoint("no-such-endpoint").health(), /404/);
  await assert.rejects(endpoint.run({}), /400/);
});
