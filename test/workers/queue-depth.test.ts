/** A hundred thousand jobs wait: what each operation reads and writes then, in rows, which do not depend on the machine. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

const DEPTH = 100_000;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** An endpoint with one running job, one failed one, and so many behind them that are copies of a real one. */
async function deepEndpoint() {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const run = () => call("POST", `/v2/${endpointId}/run`, { input: 1 });
  await Promise.all([run(), run(), run()]);
  const workerId = await agent.bringUpWorker(endpointId);
  const failed = await agent.take(endpointId, workerId);
  await agent.report(endpointId, { kind: "failed", jobId: failed.id, attempt: 1, workerId, error: "bad" });
  await agent.take(endpointId, workerId);
  await runInDurableObject(endpointObject(endpointId), (_, { storage }) => copyLastJob(storage.sql));
  await evict(endpointId);
  return { endpointId, agent, workerId };
}

function copyLastJob(sql: SqlStorage): void {
  const columns = sql.exec("SELECT * FROM job LIMIT 0").columnNames.filter((name) => name !== "seq");
  sql.exec(
    `WITH RECURSIVE copy (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < ${DEPTH - 1})
     INSERT INTO job (seq, ${columns.join(", ")})
     SELECT last + number, ${columns.join(", ")}
       FROM copy, (SELECT max(seq) AS last FROM job) JOIN job ON job.seq = last`,
  );
}

/** Rows read and written by `work`. */
async function rowsOf(endpointId: string, work: () => Promise<unknown>) {
  const before = await endpointObject(endpointId).vitals();
  await work();
  const after = await endpointObject(endpointId).vitals();
  return { read: after.rowsRead - before.rowsRead, written: after.rowsWritten - before.rowsWritten };
}

test("however many jobs are queued, every operation reads and writes a handful of rows", async ({
  expect,
}) => {
  const { endpointId, agent, workerId } = await deepEndpoint();
  const get = async (path: string) => (await call("GET", `/v2/${endpointId}/${path}`)).body;
  const post = async (path: string, body?: unknown) =>
    (await call("POST", `/v2/${endpointId}/${path}`, body)).body;
  const expectRows = async (work: () => Promise<unknown>, read: number, written: number) => {
    const rows = await rowsOf(endpointId, work);
    expect(rows.read, work.toString()).toBeLessThanOrEqual(read);
    expect(rows.written, work.toString()).toBeLessThanOrEqual(written);
  };

  // Waking: the first call constructs the object.
  expect((await get("health"))["jobs"]).toMatchObject({ inQueue: DEPTH, inProgress: 1, failed: 1 });
  const woken = await endpointObject(endpointId).vitals();
  expect(woken.rowsRead).toBeLessThan(100);
  expect(woken.rowsWritten).toBeLessThanOrEqual(2);

  const [newest] = (await get("requests?limit=1"))["requests"] as { id: string }[];
  expect(await get(`status/${newest?.id}`)).toMatchObject({ status: "IN_QUEUE", queue: { position: DEPTH } });

  await expectRows(() => get(`status/${newest?.id}`), 5, 0);
  await expectRows(() => get("health"), 5, 0);
  await expectRows(() => post("run", { input: 1 }), 10, 2);
  await expectRows(() => agent.exchange(endpointId, { slots: [{ workerId, free: 1 }] }), 15, 2);
  await expectRows(() => post(`cancel/${newest?.id}`), 10, 3);
  await expectRows(() => get("requests?limit=10"), 250, 0);
  await expectRows(() => get("requests?status=FAILED"), 20, 0);
  await expectRows(() => get("requests?status=IN_PROGRESS"), 20, 0);
  await expectRows(() => post("purge-queue"), 20, 3);
  expect((await get("health"))["jobs"]).toMatchObject({ inQueue: 0, inProgress: 2 });
});
