import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, inArray } from "drizzle-orm";
import { beforeEach, test, vi } from "vitest";
import { openDatabase, MAINTENANCE_ROWS_MAX } from "../../src/db/database.ts";
import { apiKey, auditEntry, endpointRemoval, joinToken, template } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { freshAccount } from "./accounts.ts";
import { freshClient, savedEndpoint } from "./graphql-client.ts";
import { endpointObject } from "./object.ts";
import {
  AUDIT_RETENTION_MS,
  INACTIVE_KEY_RETENTION_MS,
  MAINTENANCE_CALLS_MAX,
} from "../../src/maintenance/tasks.ts";

const db = openDatabase(env.DB);

/** As the platform does it. */
async function maintain(bindings: Env = env): Promise<void> {
  const context = createExecutionContext();
  await worker.scheduled(createScheduledController(), bindings);
  await waitOnExecutionContext(context);
}

beforeEach(async () => {
  for (const table of [auditEntry, endpointRemoval, joinToken]) await db.delete(table);
});

test("the object of an endpoint whose deletion never reached it is emptied", async ({ expect }) => {
  const client = await freshClient();
  const { id } = await savedEndpoint(client, ", workersMax: 0");
  // What a deletion leaves behind whose call to the object failed.
  await db.insert(endpointRemoval).values({ endpointId: id, accountId: client.accountId, deletedAt: 1 });
  expect((await endpointObject(id).health()).kind).not.toBe("unconfigured");

  await maintain();
  expect((await endpointObject(id).health()).kind).toBe("unconfigured");
  expect(await db.select().from(endpointRemoval)).toEqual([]);
});

test("an object that cannot be reached keeps its removal, and no task from its work", async ({ expect }) => {
  const silent = vi.spyOn(console, "error").mockImplementation(() => {});
  const { accountId } = await freshAccount();
  await db.insert(endpointRemoval).values({ endpointId: "gone", accountId, deletedAt: 1 });
  await db.insert(joinToken).values({ hash: "old", accountId, createdAt: 1, expiresAt: 2 });
  const unreachable = {
    ...env,
    ENDPOINT: { getByName: () => ({ remove: () => Promise.reject(new Error("unreachable")) }) },
  } as unknown as Env;

  await maintain(unreachable);
  expect(await db.select().from(endpointRemoval)).toHaveLength(1);
  expect(await db.select().from(joinToken)).toEqual([]);
  await maintain();
  expect(await db.select().from(endpointRemoval)).toEqual([]);
  silent.mockRestore();
});

test("a task that fails is logged and keeps no other from its work", async ({ expect }) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const { accountId } = await freshAccount();
  await db.insert(joinToken).values({ hash: "old", accountId, createdAt: 1, expiresAt: 2 });
  // One table cannot be read.
  const failing = {
    ...env,
    DB: new Proxy(env.DB, {
      get: (target, name) =>
        name === "prepare"
          ? (sql: string) => target.prepare(sql.replace(/endpoint_removal/g, "no_such_table"))
          : Reflect.get(target, name),
    }),
  } as Env;

  await maintain(failing);
  expect(await db.select().from(joinToken)).toEqual([]);
  expect(logged.mock.calls.map(([line]) => JSON.parse(String(line)))).toMatchObject([
    { event: "maintenance_failed", task: "empty deleted endpoints" },
  ]);
  logged.mockRestore();
});

test("old audit entries, ended join tokens and dead keys go; younger ones stay", async ({ expect }) => {
  const now = Date.now();
  const { accountId } = await freshAccount();
  const entry = (at: number, operation: string) => ({
    accountId,
    at,
    apiKeyId: "k",
    operation,
    subjectKind: "template",
    subjectId: "t",
    fields: [],
  });
  const dead = now - INACTIVE_KEY_RETENTION_MS;
  const key = (hash: string, end: object) => ({
    id: hash,
    accountId,
    hash,
    name: hash,
    isRoot: false,
    createdAt: 1,
    ...end,
  });
  await db
    .insert(auditEntry)
    .values([
      entry(now - AUDIT_RETENTION_MS - 1_000, "old"),
      entry(now - AUDIT_RETENTION_MS + 60_000, "young"),
    ]);
  await db.insert(joinToken).values([
    { hash: "ended", accountId, createdAt: 1, expiresAt: now - 1_000 },
    { hash: "open", accountId, createdAt: 1, expiresAt: now + 60_000 },
  ]);
  await db
    .insert(apiKey)
    .values([
      key("revoked long ago", { revokedAt: dead - 1_000 }),
      key("revoked lately", { revokedAt: dead + 60_000 }),
      key("expired long ago", { expiresAt: dead - 1_000 }),
      key("expired lately", { expiresAt: dead + 60_000 }),
    ]);

  await maintain();
  expect((await db.select().from(auditEntry)).map(({ operation }) => operation)).toEqual(["young"]);
  expect((await db.select().from(joinToken)).map(({ hash }) => hash)).toEqual(["open"]);
  const keys = await db.select().from(apiKey).where(eq(apiKey.accountId, accountId));
  expect(keys.map(({ name }) => name).toSorted()).toEqual(["expired lately", "revoked lately", "test"]);
});

test("one run does a bounded amount of work, and the next one continues", async ({ expect }) => {
  const { accountId } = await freshAccount();
  const rows = MAINTENANCE_ROWS_MAX + 3;
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
     INSERT INTO join_token SELECT 'hash ' || i, ?1, NULL, 1, 2, NULL, NULL FROM n`,
  )
    .bind(accountId, rows)
    .run();
  const removals = MAINTENANCE_CALLS_MAX + 2;
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
     INSERT INTO endpoint_removal SELECT 'endpoint ' || i, ?1, 1 FROM n`,
  )
    .bind(accountId, removals)
    .run();

  await maintain();
  expect(await db.select().from(joinToken)).toHaveLength(3);
  expect(await db.select().from(endpointRemoval)).toHaveLength(2);
  await maintain();
  expect(await db.select().from(joinToken)).toEqual([]);
  expect(await db.select().from(endpointRemoval)).toEqual([]);
});

test("an inline template whose endpoint could not be saved goes after an hour, and no other", async ({
  expect,
}) => {
  const client = await freshClient();
  const { templateId: ownId } = await savedEndpoint(client);
  const inline = 'template: { imageName: "i" }';
  const { data } = await client.send(
    `mutation { saveEndpoint(input: { name: "e", gpuIds: "ADA_24", ${inline} }) { templateId } }`,
  );
  const usedId = data.saveEndpoint.templateId;
  const [used] = await db.select().from(template).where(eq(template.id, usedId));
  if (used === undefined) throw new Error("no template");
  const orphan = (id: string, updatedAt: number) => ({ ...used, id, name: id, updatedAt });
  const [oldId, youngId] = [crypto.randomUUID(), crypto.randomUUID()];
  await db.insert(template).values([orphan(oldId, 1), orphan(youngId, Date.now())]);
  await db
    .update(template)
    .set({ updatedAt: 1 })
    .where(inArray(template.id, [ownId, usedId]));

  await maintain();
  const left = await db.select().from(template).where(eq(template.accountId, client.accountId));
  expect(new Set(left.map(({ id }) => id))).toEqual(new Set([ownId, usedId, youngId]));
});
