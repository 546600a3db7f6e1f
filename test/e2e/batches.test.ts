/** Batches end to end: submitted over HTTP as the documentation says, run by a real worker. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "vitest";
import type { BatchSummary } from "../../src/contract/batch.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { BatchClient, returning } from "../support/batch-client.ts";
import { createEndpoint } from "../support/management-client.ts";

const WORKER = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
/** Three steps of the start, the last of them a small one. */
const LARGE_COUNT = 2_100;

let account: AccountHost;
let client: BatchClient;

beforeAll(async () => {
  account = await startAccountHost("batches", "process");
  const dockerArgs = `"${process.execPath}" "${WORKER}"`;
  const env = { MOCK_CONCURRENCY: "20" };
  const settings = { name: "batches", dockerArgs, env, workersMax: 1 };
  client = new BatchClient({ ...account, endpointId: await createEndpoint(account, settings) });
});
afterAll(() => account.stop());

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test("a hundred jobs, in two calls, by a real worker", async ({ expect }) => {
  const { id, status } = await client.call<BatchSummary>("POST", "batch", returning(0, 60));
  expect(status).toBe("DRAFT");
  await client.call("POST", `batch/${id}/requests`, { requests: returning(60, 40) });
  await client.call("PUT", `batch/${id}`, { name: "a hundred" });
  await client.call("POST", `batch/${id}/finalize`);
  expect(await client.untilEnded(id)).toMatchObject({
    name: "a hundred",
    status: "FINALIZED",
    requestTotal: 100,
    requestInProgress: 0,
    requestCompleted: 100,
  });
  expect((await client.allRequests(id)).map(({ output }) => output)).toEqual(numbers(100));
  const { batches } = await client.call<{ batches: BatchSummary[] }>("GET", "batch");
  expect(batches.map((batch) => batch.id)).toEqual([id]);
});

test("a worker sees which batch its job is of", async ({ expect }) => {
  const { id } = await client.call<BatchSummary>("POST", "batch", [{ input: { mock_member: "batchId" } }]);
  await client.call("POST", `batch/${id}/finalize`);
  await client.untilEnded(id);
  expect((await client.allRequests(id)).map(({ output }) => output)).toEqual([id]);
});

test("another job is taken while a large one starts, and stays when all of that is cancelled again", async ({
  expect,
}) => {
  const endpointId = await createEndpoint(account, { name: "waiting", workersMax: 0 });
  const waiting = new BatchClient({ ...account, endpointId });
  const { id } = await waiting.call<BatchSummary>("POST", "batch", returning(0, LARGE_COUNT));
  const [, other] = await Promise.all([
    waiting.call("POST", `batch/${id}/finalize`),
    waiting.call<{ id: string }>("POST", "run", { input: {} }),
  ]);
  expect(await waiting.call("POST", `batch/${id}/cancel`)).toMatchObject({ requestTotal: LARGE_COUNT });
  expect((await waiting.untilEnded(id)).status).toBe("CANCELLED");
  expect(await waiting.call("GET", `status/${other.id}`)).toMatchObject({ status: "IN_QUEUE" });
});
