/** The objects' own tables, from each state that was ever deployed, with rows of that time in them. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { encodeJobId } from "../../src/domain/jobs/job-id.ts";
import { PRIORITY_START } from "../../src/domain/jobs/priorities.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { ENDPOINT_MIGRATIONS } from "../../src/endpoint/schema.ts";
import { FLEET_MIGRATIONS } from "../../src/fleet/schema.ts";
import { endpointObject } from "./object.ts";

type Row = Readonly<Record<string, string | number | null>>;
/** Rows as they were written after the migration of this number, counted from 1. */
type Rows = readonly (readonly [since: number, table: string, row: Row])[];

const NOW = Date.now();
const DAY_MS = 86_400_000;
const nonceOf = (seq: number) => String(seq).padStart(20, "0");
const jobIdOf = (seq: number) => encodeJobId({ seq, nonce: nonceOf(seq), isSync: false, shard: 0 });

function jobRow(seq: number, values: Row): Row {
  return {
    seq,
    nonce: nonceOf(seq),
    state: "queued",
    is_sync: 0,
    attempt: 0,
    retries: 0,
    rescues: 0,
    created_at: NOW - 1_000,
    queued_at: NOW - 1_000,
    expires_at: NOW + DAY_MS,
    execution_timeout_ms: 600_000,
    input: '{"a":1}',
    options: "{}",
    ...values,
  };
}

const RUNNING = { state: "running", attempt: 1, started_at: NOW - 500, worker_id: "w1", host_id: "h1" };
const ENDED = { ...RUNNING, finished_at: NOW - 100, remove_at: NOW + DAY_MS };
const CONFIG = {
  accountId: "acme",
  name: "old",
  type: "QB",
  version: 1,
  workersMin: 0,
  workersMax: 0,
  idleTimeoutSeconds: 5,
  scalerType: "QUEUE_DELAY",
  scalerValue: 4,
  executionTimeoutMs: 600_000,
  gpuTiers: [],
  excludedGpuModels: [],
  gpuCount: 0,
  locations: [],
};

const endpointRows = (endpointId: string): Rows => [
  [1, "job", jobRow(1, {})],
  [1, "job", jobRow(2, RUNNING)],
  [1, "job", jobRow(3, { ...ENDED, state: "completed", output: "7" })],
  [1, "job", jobRow(4, { ...ENDED, state: "failed", error: "it broke" })],
  [1, "job", jobRow(5, { retries: 1, attempt: 1 })],
  [1, "requeued", { seq: 5 }],
  [1, "fact", { name: "config", json: JSON.stringify({ ...CONFIG, endpointId }) }],
  [2, "job", jobRow(6, { idempotency_key: "mine" })],
  [2, "idempotency", { key: "mine", seq: 6 }],
  [3, "drained", { seq: 3, position: 0 }],
  [4, "job", jobRow(7, { retention_ms: 60_000 })],
];

const FLEET_ROWS: Rows = [
  [1, "host", { host_id: "h1", account_id: "acme", agent_version: "0.1.0", inventory: "{}", revision: 1 }],
  [
    1,
    "worker",
    {
      worker_id: "w1",
      endpoint_id: "e1",
      host_id: "h1",
      version: 1,
      gpu_indexes: "[]",
      state: "ready",
      created_at: 1,
    },
  ],
  [1, "unsent", { endpoint_id: "e1" }],
];

const DESIRED = { endpoint_id: "e1", config: JSON.stringify({ ...CONFIG, endpointId: "e1" }) };

function fleetRows(count: number): Rows {
  const isRenamed = count >= 8;
  const row = isRenamed ? { ...DESIRED, desired: 2 } : { ...DESIRED, wanted: 2 };
  return [...FLEET_ROWS, [1, isRenamed ? "desired_workers" : "wish", row]];
}

/** Puts an object back to a state that was deployed once, with rows of that time, and has it wake in today's code. */
async function reborn(
  stub: DurableObjectStub,
  migrations: readonly string[],
  count: number,
  rows: Rows,
): Promise<void> {
  await runInDurableObject(stub, async (_, { storage }) => {
    await storage.deleteAll();
    new ObjectDatabase(storage.sql).migrate(migrations.slice(0, count));
    for (const [since, table, row] of rows) {
      if (since > count) continue;
      const names = Object.keys(row);
      storage.sql.exec(
        `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
        ...Object.values(row),
      );
    }
  });
  await evictDurableObject(stub);
}

async function schemaOf(stub: DurableObjectStub): Promise<unknown> {
  return await runInDurableObject(stub, (_, { storage }) =>
    storage.sql
      .exec(
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
      )
      .toArray(),
  );
}

async function countOf(stub: DurableObjectStub, table: string): Promise<unknown> {
  return await runInDurableObject(stub, (_, { storage }) =>
    storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one(),
  );
}

function numbersOf(migrations: readonly string[]): readonly number[] {
  return migrations.map((_, index) => index + 1);
}

describe("an endpoint's object", () => {
  test.each(numbersOf(ENDPOINT_MIGRATIONS))("of migration %i starts with all its jobs", async (count) => {
    const endpointId = crypto.randomUUID().replaceAll("-", "").slice(0, 14);
    const stub = endpointObject(endpointId);
    const rows = endpointRows(endpointId);
    await reborn(stub, ENDPOINT_MIGRATIONS, count, rows);

    const statusOf = async (seq: number) => {
      const reply = await stub.status(jobIdOf(seq), 0);
      return reply.kind === "found" ? reply.view.status : reply.kind;
    };
    expect(await Promise.all([1, 2, 3, 4, 5].map(statusOf))).toEqual([
      "IN_QUEUE",
      "IN_PROGRESS",
      "COMPLETED",
      "FAILED",
      "IN_QUEUE",
    ]);
    for (const table of ["job", "requeued", "idempotency", "drained"]) {
      const written = rows.filter(([since, name]) => name === table && since <= count).length;
      expect([table, await countOf(stub, table)]).toEqual([table, { n: written }]);
    }
    expect(await countOf(stub, "migration")).toEqual({ n: ENDPOINT_MIGRATIONS.length });

    const fresh = endpointObject(crypto.randomUUID());
    expect(await schemaOf(stub)).toEqual(await schemaOf(fresh));
    await evictDurableObject(stub);
    expect(await statusOf(1)).toBe("IN_QUEUE");
  });
});

/** What was kept in R2 before anybody counted it. */
const STORED_ROWS: Rows = [
  [1, "job", jobRow(1, { ...RUNNING, input: "@20000000:jobs/e/running" })],
  [1, "job", jobRow(2, { ...ENDED, state: "completed", output: "@400000:jobs/e/output" })],
  [1, "job", jobRow(3, { ...ENDED, state: "completed", input: `"@${"x".repeat(2_000)}"`, output: '"@7"' })],
  [1, "job", jobRow(4, { input: "@300000:jobs/e/input" })],
  [
    6,
    "batch",
    {
      number: 1,
      nonce: "0".repeat(20),
      state: "draft",
      created_at: NOW,
      touched_at: NOW,
      request_count: 2,
      next_request: 3,
      ranges: "[]",
      removed_completed: 0,
    },
  ],
  [6, "batch_pack", { batch: 1, first: 0, live: 2, requests: packOf([300_000, null, 0, 500_000]) }],
];

function packOf(sizes: readonly (number | null)[]): string {
  const inputs = sizes.map((sizeBytes) => {
    if (sizeBytes === null) return null;
    const kept = { kind: "stored", key: "jobs/e/request", sizeBytes };
    return { input: sizeBytes === 0 ? { kind: "inline", json: "1" } : kept, optionsJson: "{}" };
  });
  return JSON.stringify(inputs);
}

/** As it was written after the third job had been claimed. */
const OLD_CHECKPOINT = {
  lanes: { normal: { head: 4, tail: 5 }, low: { head: PRIORITY_START.low, tail: PRIORITY_START.low } },
  counts: {
    queued: { normal: 1, low: 0 },
    kept: { completed: 2, failed: 0, cancelled: 0, timed_out: 0 },
    completed: 2,
    failed: 0,
    retried: 0,
  },
  running: [1],
  purges: [],
};

describe("the bytes of an endpoint in R2 are counted once, by its rows", () => {
  const checkpoints: readonly [string, Rows][] = [
    ["without a checkpoint", []],
    ["with one", [[1, "fact", { name: "checkpoint", json: JSON.stringify(OLD_CHECKPOINT) }]]],
  ];
  test.each(checkpoints)("%s", async (_, checkpoint) => {
    const endpointId = crypto.randomUUID().replaceAll("-", "").slice(0, 14);
    const stub = endpointObject(endpointId);
    const config: Rows = [[1, "fact", { name: "config", json: JSON.stringify({ ...CONFIG, endpointId }) }]];
    await reborn(stub, ENDPOINT_MIGRATIONS, 7, [...STORED_ROWS, ...config, ...checkpoint]);
    const stored = 20_000_000 + 400_000 + 300_000 + (300_000 + 500_000);
    expect((await stub.vitals()).storedBytes).toBe(stored);
    const woken = (await stub.vitals()).rowsRead;

    await stub.cancel(jobIdOf(4)); // the first turn writes it down
    await evictDurableObject(stub);
    expect((await stub.vitals()).storedBytes).toBe(stored);
    expect((await stub.vitals()).rowsRead).toBeLessThan(woken);
  });
});

test("facts keep their values under new names, and an unwritten claim still runs", async () => {
  const endpointId = crypto.randomUUID().replaceAll("-", "").slice(0, 14);
  const stub = endpointObject(endpointId);
  const fact = (name: string, value: unknown): Rows[number] => [
    1,
    "fact",
    { name, json: JSON.stringify(value) },
  ];
  const eviction = { at: NOW, placed: 1 };
  const rollout = { since: NOW, heldUntil: 0, progressAt: NOW, ready: 1, stalledSince: null };
  await reborn(stub, ENDPOINT_MIGRATIONS, 8, [
    [1, "job", jobRow(1, {})],
    fact("config", { ...CONFIG, endpointId }),
    fact("wish", { wanted: 2, leaving: ["w9"], grownAt: NOW, jobsPerWorker: 3, isTold: true }),
    fact("release", { ...rollout, ...Object.fromEntries([["room", eviction]]) }),
    fact("hand:h1", [[1, "w1", NOW - 500]]),
  ]);
  const facts = await runInDurableObject(stub, (_, { storage }) => {
    new ObjectDatabase(storage.sql).migrate(ENDPOINT_MIGRATIONS);
    return storage.sql.exec<{ name: string; json: string }>("SELECT name, json FROM fact").toArray();
  });
  const valueOf = (name: string): unknown =>
    JSON.parse(facts.find((one) => one.name === name)?.json ?? "null");
  expect(valueOf("rollout")).toEqual({ ...rollout, eviction });
  expect(valueOf("claims:h1")).toEqual([[1, "w1", NOW - 500]]);
  expect(valueOf("desired_workers")).toMatchObject({ jobsPerWorker: 3 });
  expect(facts.map(({ name }) => name)).not.toContain("wish");
  expect(await stub.status(jobIdOf(1), 0)).toMatchObject({ kind: "found", view: { status: "IN_PROGRESS" } });
});

describe("a Fleet object", () => {
  test.each(numbersOf(FLEET_MIGRATIONS))(
    "of migration %i starts with its hosts and workers",
    async (count) => {
      const stub = env.FLEET.getByName(`old-${count}`);
      await reborn(stub, FLEET_MIGRATIONS, count, fleetRows(count));

      expect(await countOf(stub, "worker")).toEqual({ n: 1 });
      expect(await countOf(stub, "host")).toEqual({ n: 1 });
      expect(await countOf(stub, "desired_workers WHERE desired = 2")).toEqual({ n: 1 });
      expect(await countOf(stub, "migration")).toEqual({ n: FLEET_MIGRATIONS.length });
      expect(await schemaOf(stub)).toEqual(await schemaOf(env.FLEET.getByName("fresh")));
    },
  );
});
