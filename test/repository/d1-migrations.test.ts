/** D1's migrations, from nothing and from each state that was ever deployed, with rows of that time in it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { drizzle, type AnyD1Database } from "drizzle-orm/d1";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, describe, test } from "vitest";
import { applyMigrations, type MigratableDatabase } from "../../standalone/migrations.ts";
import { readMigrations } from "../../scripts/bundle/edge-bundle.ts";
import * as schema from "../../src/db/schema.ts";

const MIGRATIONS = resolve(import.meta.dirname, "../../drizzle");
const ALL = await readMigrations(MIGRATIONS);
const FILES = ALL.map(({ name }) => name);

type TestDatabase = MigratableDatabase & {
  readonly bindings: AnyD1Database;
  readonly rows: (sql: string) => Promise<Record<string, unknown>[]>;
};

/** Passes statements on to a database. Miniflare's own way to one stops this process for each of them. */
const PASSING = `export default {
  async fetch(request, env) {
    const { name, how, statements } = await request.json();
    const prepared = statements.map(({ sql, values }) => env[name].prepare(sql).bind(...values));
    try {
      return Response.json(how === "batch" ? await env[name].batch(prepared) : await prepared[0][how]());
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
}`;

type How = "all" | "run" | "raw" | "batch";
type Pass = (how: How, statements: readonly PassedStatement[]) => Promise<unknown>;

class PassedStatement {
  readonly #pass: Pass;
  readonly sql: string;
  readonly values: readonly unknown[];

  constructor(pass: Pass, sql: string, values: readonly unknown[] = []) {
    this.#pass = pass;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): PassedStatement {
    return new PassedStatement(this.#pass, this.sql, values);
  }

  async all(): Promise<{ results: Record<string, unknown>[] }> {
    return (await this.#pass("all", [this])) as { results: Record<string, unknown>[] };
  }

  async run(): Promise<unknown> {
    return await this.#pass("run", [this]);
  }

  async raw(): Promise<unknown> {
    return await this.#pass("raw", [this]);
  }
}

function startRuntime(names: readonly string[], directory?: string): Miniflare {
  const options = {
    modules: true,
    script: PASSING,
    d1Databases: [...names],
    ...(directory !== undefined && { resourcePersistencePath: directory }),
  };
  return new Miniflare(convertV4MiniflareOptions(options));
}

function databaseOf(runtime: Miniflare, name: string): TestDatabase {
  const pass: Pass = async (how, statements) => {
    const body = JSON.stringify({ name, how, statements });
    const response = await runtime.dispatchFetch("http://databases", { method: "POST", body });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  };
  const database = {
    prepare: (sql: string) => new PassedStatement(pass, sql),
    batch: async (statements: readonly PassedStatement[]) => await pass("batch", statements),
  };
  return {
    ...(database as unknown as MigratableDatabase),
    bindings: database as unknown as AnyD1Database,
    rows: async (sql) => (await database.prepare(sql).all()).results,
  };
}

/** Databases of their own for all tests of this file: a runtime takes long to start. */
const NAMES = Array.from({ length: FILES.length + 3 }, (_, index) => `DB${index}`);
const unused = [...NAMES];
const shared = startRuntime(NAMES);
afterAll(async () => await shared.dispose());

function emptyDatabase(): TestDatabase {
  return databaseOf(shared, unused.pop() ?? "none left");
}

/** Applies the first so many migrations; all of them when no number is given. */
async function migrate(database: MigratableDatabase, count = FILES.length): Promise<readonly string[]> {
  return await applyMigrations(database, ALL.slice(0, count));
}

async function schemaOf(database: TestDatabase): Promise<unknown> {
  const rows = await database.rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name");
  return rows
    .filter(({ name }) => !String(name).startsWith("_cf") && name !== "d1_migrations")
    .map((row) => ({ ...row, sql: String(row["sql"]).replaceAll(/\s+/g, " ") }));
}

const newSchema = (async () => {
  const database = emptyDatabase();
  await migrate(database);
  return await schemaOf(database);
})();

/** Rows as they were written after the migration of this number, by table. Later columns are not there yet. */
const ROWS: readonly (readonly [since: number, table: string, row: Record<string, unknown>])[] = [
  [0, "account", { id: "acme", name: "Acme", email: "ada@acme.test", created_at: 1 }],
  [
    0,
    "api_key",
    { id: "k1", account_id: "acme", hash: "h1", name: "root", is_root: 0, created_at: 1, last_used_at: 2 },
  ],
  [
    0,
    "api_key",
    { id: "k2", account_id: "acme", hash: "h2", name: "old", is_root: 0, created_at: 1, revoked_at: 3 },
  ],
  [
    0,
    "template",
    {
      id: "t1",
      account_id: "acme",
      name: "Größe 'ß'",
      image_name: "acme/worker:1",
      container_disk_in_gb: 5,
      volume_in_gb: 0,
      volume_mount_path: "",
      docker_args: "python -u handler.py",
      env: '[{"key":"A","value":"1"}]',
      ports: "8080/http",
      ports_config: '[{"port":"8080","name":"web"}]',
      readme: "line\nline",
      is_serverless: 1,
      is_public: 0,
      start_ssh: 0,
      start_jupyter: 0,
      start_script: "",
      advanced_start: 0,
      config: '{"a":[1]}',
      is_bound: 0,
      revision: 1,
      created_at: 1,
      updated_at: 1,
    },
  ],
  [0, "endpoint", endpointRow("e1", { gpu_ids: "AMPERE_16,ADA_24", gpu_count: 1, instance_ids: "[]" })],
  [0, "endpoint", endpointRow("e2", { gpu_ids: null, gpu_count: 0, instance_ids: '["cpu5c-4-8"]' })],
  [0, "endpoint_removal", { endpoint_id: "e0", account_id: "acme", deleted_at: 1 }],
  [0, "join_token", { hash: "j1", account_id: "acme", name: "shed", created_at: 1, expires_at: 9 }],
  [0, "host", { id: "host1", account_id: "acme", name: "shed", token_hash: "th", created_at: 1 }],
  [
    1,
    "webhook_secret",
    { id: "w1", account_id: "acme", secret: "plain:whsec_a", created_at: 1, valid_until: 5 },
  ],
  [1, "webhook_secret", { id: "w2", account_id: "acme", secret: "plain:whsec_b", created_at: 5 }],
  [
    2,
    "endpoint",
    endpointRow("e3", { gpu_ids: "ADA_24", gpu_count: 2, instance_ids: "[]", queue_depth_max: 7 }),
  ],
  [
    3,
    "secret",
    { id: "s1", account_id: "acme", name: "TOKEN", sealed_value: "x", created_at: 1, updated_at: 1 },
  ],
  [
    3,
    "registry_auth",
    { id: "r1", account_id: "acme", name: "hub", sealed_credentials: "x", created_at: 1, updated_at: 1 },
  ],
  [
    3,
    "network_volume",
    {
      id: "v1",
      account_id: "acme",
      name: "models",
      size_gb: 100,
      data_center_id: "EU-RO-1",
      created_at: 1,
      updated_at: 1,
    },
  ],
  [
    3,
    "audit_entry",
    {
      account_id: "acme",
      at: 1,
      api_key_id: "k1",
      operation: "saveTemplate",
      subject_kind: "template",
      subject_id: "t1",
      fields: '["readme"]',
    },
  ],
  [
    4,
    "usage_hour",
    {
      endpoint_id: "e1",
      hour: 3_600_000,
      account_id: "acme",
      endpoint_name: "e",
      completed: 2,
      worker_ms: 5,
    },
  ],
  [4, "usage_progress", { source: "workers", hour: 3_600_000 }],
  [5, "flash_app", { id: "fa1", account_id: "acme", name: "shop", created_at: 1 }],
  [
    5,
    "flash_build",
    {
      id: "fb1",
      account_id: "acme",
      app_id: "fa1",
      object_key: "acme/fa1/fb1",
      sha256: "0".repeat(64),
      size_bytes: 9,
      manifest: '{"resources":{}}',
      created_at: 1,
    },
  ],
  [
    5,
    "flash_environment",
    {
      id: "fe1",
      account_id: "acme",
      app_id: "fa1",
      name: "production",
      state: "DEPLOYED",
      active_build_id: "fb1",
      created_at: 1,
      updated_at: 1,
    },
  ],
  [7, "flash_app", { id: "fa2", account_id: "acme", name: "tried", is_for_sessions: 1, created_at: 1 }],
  [
    7,
    "flash_environment",
    {
      id: "fe2",
      account_id: "acme",
      app_id: "fa2",
      name: "live-1a2b3c",
      state: "PENDING",
      lease_expires_at: 5,
      created_at: 1,
      updated_at: 1,
    },
  ],
  [
    5,
    "flash_upload",
    {
      id: "fu1",
      account_id: "acme",
      app_id: "fa1",
      object_key: "acme/fa1/fb2",
      token_hash: "th",
      size_bytes: 9,
      created_at: 1,
      expires_at: 2,
    },
  ],
  [5, "flash_upload_part", { upload_id: "fu1", number: 1, etag: "x" }],
  [5, "flash_auth_request", { id: "ABCDEFGH", status: "PENDING", created_at: 1, expires_at: 2 }],
  [9, "log_day", { account_id: "acme", day: "2026-11-23", taken_bytes: 1_000_000 }],
  [
    10,
    "endpoint_release",
    {
      endpoint_id: "e1",
      version: 2,
      account_id: "acme",
      api_key_id: "k1",
      changes: '[{"field":"gpuCount","old":1,"new":2}]',
      created_at: 1,
    },
  ],
  [
    11,
    "pod",
    {
      id: "p1",
      account_id: "acme",
      name: "train",
      image_name: "acme/app:1",
      docker_args: "",
      env: "[]",
      ports: "22/tcp",
      container_disk_in_gb: 10,
      volume_in_gb: 20,
      volume_mount_path: "/workspace",
      start_ssh: 1,
      start_jupyter: 0,
      gpu_type_ids: '["NVIDIA L4"]',
      gpu_count: 1,
      instance_ids: "[]",
      min_vcpu_count: 0,
      min_memory_in_gb: 0,
      locations: "[]",
      needs_public_address: 0,
      is_interruptible: 1,
      bid_per_gpu: 0.25,
      locked: 0,
      version: 1,
      revision: 1,
      created_at: 1,
      updated_at: 1,
    },
  ],
  [
    12,
    "cluster",
    {
      id: "c1",
      account_id: "acme",
      name: "training",
      type: "TRAINING",
      gpu_type_id: "NVIDIA L4",
      gpu_count_per_pod: 8,
      pod_count: 2,
      created_at: 1,
    },
  ],
  [
    18,
    "sign_in",
    {
      id: "i1",
      account_id: "acme",
      api_key_id: "k1",
      hash: "i".repeat(64),
      is_link: 0,
      client: "Firefox",
      created_at: 1,
      expires_at: 2,
    },
  ],
  [14, "fleet_stock", { account_id: "acme", at: 1, hosts: "[]" }],
];

function endpointRow(id: string, values: Record<string, unknown>): Record<string, unknown> {
  return {
    id,
    account_id: "acme",
    name: `endpoint ${id}`,
    type: "QB",
    template_id: "t1",
    idle_timeout_seconds: 5,
    network_volume_ids: "[]",
    scaler_type: "QUEUE_DELAY",
    scaler_value: 4,
    workers_min: 0,
    workers_max: 3,
    workers_pfb_target: 0,
    env: "[]",
    execution_timeout_ms: 600_000,
    compliance: "[]",
    version: 1,
    revision: 1,
    created_at: 1,
    updated_at: 1,
    ...values,
  };
}

/** Writes the rows of a time at which the migration of this number was the last one. */
async function seed(database: TestDatabase, last: number): Promise<number> {
  const rows = ROWS.filter(([since]) => since <= last);
  for (const [, table, row] of rows) {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    await database
      .prepare(sql)
      .bind(...Object.values(row))
      .run();
  }
  return rows.length;
}

/** The account's rows as the code reads them, table by table. */
async function readAll(database: TestDatabase) {
  const db = drizzle(database.bindings, { schema });
  return {
    account: await db.select().from(schema.account),
    apiKey: await db.select().from(schema.apiKey),
    signIn: await db.select().from(schema.signIn),
    template: await db.select().from(schema.template),
    endpoint: await db.select().from(schema.endpoint).orderBy(schema.endpoint.id),
    endpointRemoval: await db.select().from(schema.endpointRemoval),
    endpointRelease: await db.select().from(schema.endpointRelease),
    joinToken: await db.select().from(schema.joinToken),
    host: await db.select().from(schema.host),
    webhookSecret: await db.select().from(schema.webhookSecret),
    secret: await db.select().from(schema.secret),
    registryAuth: await db.select().from(schema.registryAuth),
    networkVolume: await db.select().from(schema.networkVolume),
    auditEntry: await db.select().from(schema.auditEntry),
    usageHour: await db.select().from(schema.usageHour),
    usageProgress: await db.select().from(schema.usageProgress),
    fleetStock: await db.select().from(schema.fleetStock),
    flashApp: await db.select().from(schema.flashApp),
    flashBuild: await db.select().from(schema.flashBuild),
    flashEnvironment: await db.select().from(schema.flashEnvironment),
    flashUpload: await db.select().from(schema.flashUpload),
    flashUploadPart: await db.select().from(schema.flashUploadPart),
    logDay: await db.select().from(schema.logDay),
    pod: await db.select().from(schema.pod),
    cluster: await db.select().from(schema.cluster),
    flashAuthRequest: await db.select().from(schema.flashAuthRequest),
  };
}

describe.each(FILES.map((name, index) => ({ name, index })))("from $name", ({ index }) => {
  test("the rows of that time are kept, the code reads them, and the schema is that of a new database", async ({
    expect,
  }) => {
    const database = emptyDatabase();
    await migrate(database, index + 1);
    const written = await seed(database, index);
    expect(await migrate(database)).toEqual(FILES.slice(index + 1));

    expect(await schemaOf(database)).toEqual(await newSchema);
    expect(await database.rows("PRAGMA foreign_key_check")).toEqual([]);
    const read = await readAll(database);
    expect(Object.values(read).flat()).toHaveLength(written);
    expect(read.apiKey[0]?.permissions).toEqual({ graphql: "write", endpoints: "write" });
    expect(read.template[0]).toMatchObject({
      name: "Größe 'ß'",
      env: [{ key: "A", value: "1" }],
      config: { a: [1] },
    });
    expect(read.endpoint.slice(0, 2)).toMatchObject([
      { id: "e1", gpuIds: "AMPERE_16,ADA_24", queueDepthMax: 1_000_000 },
      { id: "e2", gpuIds: null, instanceIds: ["cpu5c-4-8"], queueDepthMax: 1_000_000 },
    ]);
    expect(await migrate(database)).toEqual([]);
  });
});

test("the key of the environment gets the permission shell, and no other key does", async ({ expect }) => {
  const database = emptyDatabase();
  const before = FILES.indexOf("0013_shell-permission.sql");
  await migrate(database, before);
  await seed(database, before - 1);
  await database.prepare("UPDATE api_key SET is_root = 1 WHERE id = 'k2'").run();
  await migrate(database);
  const keys = await drizzle(database.bindings, { schema }).select().from(schema.apiKey);
  expect(keys.map(({ id, permissions }) => [id, permissions])).toEqual([
    ["k1", { graphql: "write", endpoints: "write" }],
    ["k2", { graphql: "write", endpoints: "write", shell: true }],
  ]);
});

test("there are rows for every table", async ({ expect }) => {
  const names = ((await newSchema) as { type: string; name: string }[])
    .filter(({ type, name }) => type === "table" && !name.startsWith("sqlite_"))
    .map(({ name }) => name);
  expect([...new Set(ROWS.map(([, table]) => table))].toSorted()).toEqual(names.toSorted());
});

test("a second start on the same disk migrates nothing and finds everything", async ({ expect }) => {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-d1-"));
  try {
    for (const expected of [FILES, []]) {
      const runtime = startRuntime(["DB"], directory);
      try {
        const database = databaseOf(runtime, "DB");
        expect(await migrate(database)).toEqual(expected);
        if (expected.length > 0) await seed(database, FILES.length - 1);
        expect(Object.values(await readAll(database)).flat()).toHaveLength(ROWS.length);
      } finally {
        await runtime.dispose();
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test("a migration that fails leaves nothing of itself and is tried again", async ({ expect }) => {
  const database = emptyDatabase();
  await migrate(database, 1);
  await database.prepare("CREATE TABLE webhook_secret (wrong TEXT)").run();
  await expect(migrate(database)).rejects.toThrow("webhook_secret");
  await database.prepare("DROP TABLE webhook_secret").run();
  expect(await migrate(database)).toEqual(FILES.slice(1));
});
