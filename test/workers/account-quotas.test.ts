/** How much an account may have of each kind. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { describe, test } from "vitest";
import { quotaOf, type QuotaKind } from "../../src/db/quotas.ts";
import { openDatabase } from "../../src/db/database.ts";
import { madeApp } from "./flash-client.ts";
import { codeOf, freshClient, savedVolume, type Client } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { holding } from "./message-facts.ts";
import { EdgeClient } from "./edge-client.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";

const { call } = new EdgeClient();

const db = openDatabase(env.DB);

/** By kind: its table, a row of it, and how one more is made. */
const KINDS: Record<
  QuotaKind,
  {
    table: string;
    key: string;
    unique: string | readonly string[];
    create: (unique: string, neededId: string) => string;
    /** Makes what it needs; gives the id. */
    need?: (client: Client) => Promise<string>;
  }
> = {
  apiKey: {
    table: "api_key",
    key: "id",
    unique: "hash",
    create: (name) => `createApiKey(input: { name: "${name}", level: ALL }) { token }`,
  },
  cluster: {
    table: "cluster",
    key: "id",
    unique: "name",
    need: async ({ key }) => (await PodAgent.join(new EdgeClient(key))).agent.hostId,
    create: (name) =>
      `createCluster(input: { clusterName: "${name}", imageName: "i", gpuTypeId: "${POD_CARD}", gpuCountPerPod: 1,
        podCount: 1 }) { id }`,
  },
  endpoint: {
    table: "endpoint",
    key: "id",
    unique: "name",
    create: (name) =>
      `saveEndpoint(input: { name: "${name}", gpuIds: "ADA_24", template: { imageName: "i" } }) { id }`,
  },
  flashApp: {
    table: "flash_app",
    key: "id",
    unique: "name",
    create: (name) => `createFlashApp(input: { name: "${name}" }) { id }`,
  },
  flashUpload: {
    table: "flash_upload",
    key: "id",
    unique: ["object_key", "token_hash"],
    need: async (client) => (await madeApp(client)).appId,
    create: (_, appId) =>
      `prepareFlashArtifactUpload(input: { flashAppId: "${appId}", tarballSize: 10 }) { objectKey }`,
  },
  joinToken: {
    table: "join_token",
    key: "hash",
    unique: "name",
    create: (name) => `joinTokenCreate(input: { name: "${name}" }) { token }`,
  },
  networkVolume: {
    table: "network_volume",
    key: "id",
    unique: "name",
    create: (name) =>
      `createNetworkVolume(input: { name: "${name}", size: 1, dataCenterId: "EU-RO-1" }) { id }`,
  },
  pod: {
    table: "pod",
    key: "id",
    unique: "name",
    need: async ({ key }) => (await PodAgent.join(new EdgeClient(key))).agent.hostId,
    create: (name) =>
      `deployCpuPod(input: { name: "${name}", imageName: "i", instanceId: "cpu3c-1-2" }) { id }`,
  },
  registryAuth: {
    table: "registry_auth",
    key: "id",
    unique: "name",
    create: (name) => `saveRegistryAuth(input: { name: "${name}", username: "u", password: "p" }) { id }`,
  },
  secret: {
    table: "secret",
    key: "id",
    unique: "name",
    create: (name) => `secretCreate(input: { name: "${name}", value: "v" }) { id }`,
  },
  signIn: { table: "sign_in", key: "id", unique: "hash", create: () => "createSignInLink { url }" },
  template: {
    table: "template",
    key: "id",
    unique: "name",
    create: (name) =>
      `saveTemplate(input: { name: "${name}", imageName: "i", containerDiskInGb: 1, volumeInGb: 0 }) { id }`,
  },
};

async function countOf(table: string, accountId: string): Promise<number> {
  const found = await db.get<{ n: number }>(
    sql`SELECT count(*) AS n FROM ${sql.identifier(table)} WHERE account_id = ${accountId}`,
  );
  return found.n;
}

/** Copies a row of the account until it has `count`. */
async function fill(accountId: string, { table, key, unique }: (typeof KINDS)[QuotaKind], count: number) {
  const columns = await db.all<{ name: string }>(sql`SELECT name FROM pragma_table_info(${table})`);
  const values = columns.map(({ name }) =>
    [key, ...[unique].flat()].includes(name)
      ? sql`${sql.identifier(name)} || '-' || numbers.value`
      : sql.identifier(name),
  );
  const missing = count - (await countOf(table, accountId));
  const numbers = JSON.stringify(Array.from({ length: missing }, (_, index) => index));
  await db.run(sql`INSERT INTO ${sql.identifier(table)}
    SELECT ${sql.join(values, sql`, `)}
    FROM (SELECT * FROM ${sql.identifier(table)} WHERE account_id = ${accountId} LIMIT 1),
         (SELECT value FROM json_each(${numbers})) AS numbers`);
}

describe.for(Object.entries(KINDS) as [QuotaKind, (typeof KINDS)[QuotaKind]][])("%s", ([kind, row]) => {
  test("of two that fill the last place at once one is made, and then none", async ({ expect }) => {
    const client = await freshClient();
    const neededId = (await row.need?.(client)) ?? "";
    const create = async (name: string) => await client.send(`mutation { ${row.create(name, neededId)} }`);
    expect((await create("first")).errors).toBeUndefined();
    await fill(client.accountId, row, quotaOf(kind) - 1);

    const answers = await Promise.all([create("one"), create("two")]);
    const codes = answers.map((answer) => (answer.errors === undefined ? "made" : codeOf(answer)));
    expect(codes.toSorted()).toEqual(["LIMIT_REACHED", "made"]);
    const refused = await create("three");
    expect(codeOf(refused)).toBe("LIMIT_REACHED");
    expect(refused.errors[0].message).toMatch(holding(quotaOf(kind)));
    expect(await countOf(row.table, client.accountId)).toBe(quotaOf(kind));

    const other = await freshClient();
    const othersId = (await row.need?.(other)) ?? "";
    expect((await other.send(`mutation { ${row.create("one", othersId)} }`)).errors).toBeUndefined();
  });
});

test("REST reports it as well, and as not retryable", async ({ expect }) => {
  const client = await freshClient();
  await savedVolume(client);
  await fill(client.accountId, KINDS.networkVolume, quotaOf("networkVolume"));
  const key = await keyWith(client.accountId, { graphql: "write", endpoints: "none" });
  const volume = { name: "v", size: 1, dataCenterId: "EU-RO-1" };
  const { status, body } = await call("POST", "/v1/networkvolumes", volume, {
    Authorization: `Bearer ${key}`,
  });
  expect([status, body["code"]]).toEqual([400, "limit_reached"]);
});

test("no more than five secrets sign at once, however often they are changed", async ({ expect }) => {
  const client = await freshClient();
  const rotate = async () => await client.send("mutation { webhookSecretRotate { secret } }");
  const answers = [];
  for (let times = 0; times < 5; times += 1) answers.push(await rotate());
  expect(answers.filter(({ errors }) => errors !== undefined)).toEqual([]);
  const refused = await rotate();
  expect(codeOf(refused)).toBe("LIMIT_REACHED");
  expect(await countOf("webhook_secret", client.accountId)).toBe(5);
  const { data } = await client.send("{ myself { webhookSecret { secret } } }");
  expect(data.myself.webhookSecret).toEqual(answers[4]?.data.webhookSecretRotate);
});
