import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { ensureRootApiKey, findApiKeyByHash } from "../../src/db/credentials/api-keys.ts";
import type { Author } from "../../src/db/audit-log.ts";
import { openDatabase } from "../../src/db/database.ts";
import {
  deleteEndpointIfUnchanged,
  findEndpoint,
  insertEndpointIfAllowed,
  listEndpoints,
  toEndpointConfig,
  updateEndpointIfUnchanged,
  type EndpointRecord,
  type EndpointValues,
} from "../../src/db/endpoints.ts";
import { createHost, findHostByTokenHash } from "../../src/db/hosts.ts";
import { insertJoinTokenWithinQuota, redeemJoinToken } from "../../src/db/credentials/join-tokens.ts";
import {
  deleteTemplateIfUnused,
  findTemplate,
  insertTemplateIfAllowed,
  newTemplate,
  updateTemplateIfUnchanged,
  type TemplateRecord,
  type TemplateValues,
} from "../../src/db/templates.ts";
import { webhookSecret } from "../../src/db/schema.ts";
import { ensureWebhookSecrets, rotateWebhookSecret } from "../../src/management/secrets/webhook-secrets.ts";
import { WEBHOOK_SECRET_OVERLAP_MS } from "../../src/db/credentials/webhook-secrets.ts";
import { freshAccount } from "./accounts.ts";
import { endpointFields } from "../../src/management/nouns/endpoint.ts";
import { defaultsOf } from "../../src/management/nouns/field.ts";

const db = openDatabase(env.DB);
const NOW = 1_000;
const OF_RELEASE = { isNewVersion: true, volumeIds: [], environmentId: null };

const templateValues = (name: string): TemplateValues => ({
  name,
  imageName: "a:1",
  containerDiskInGb: 5,
  volumeInGb: 0,
  volumeMountPath: "",
  dockerArgs: "",
  env: [{ key: "A", value: "1" }],
  ports: "",
  portsConfig: [],
  readme: "",
  isServerless: true,
  isPublic: false,
  containerRegistryAuthId: null,
  startSsh: false,
  startJupyter: false,
  startScript: "",
  models: [],
  modelTokenSecret: null,
  advancedStart: false,
  config: { nested: [1, null] },
  category: null,
  allowedCudaVersions: null,
});

const endpointValues = (templateId: string): EndpointValues => ({
  ...defaultsOf(endpointFields),
  name: "endpoint",
  type: "QB",
  templateId,
  gpuIds: "ADA_24",
  gpuCount: 1,
  instanceIds: [],
  flashBuildId: null,
  scalerType: "QUEUE_DELAY",
});

function by(accountId: string, now = NOW): Author {
  return { accountId, apiKeyId: "key", operation: "test", now };
}

async function freshTemplate(accountId: string, name = "t"): Promise<TemplateRecord> {
  const record = newTemplate(by(accountId), templateValues(name), { isBound: false });
  const inserted = await insertTemplateIfAllowed(db, by(accountId), record);
  if (!inserted) throw new Error("the name is taken");
  return inserted;
}

async function freshEndpoint(author: Author, values: EndpointValues): Promise<EndpointRecord> {
  const inserted = await insertEndpointIfAllowed(db, author, values, { volumeIds: [], environmentId: null });
  if (!inserted) throw new Error("the endpoint is not whole");
  return inserted;
}

describe("templates", () => {
  test("a template is read as it was written", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { id } = await freshTemplate(accountId);
    expect(await findTemplate(db, accountId, id)).toEqual({
      ...templateValues("t"),
      id,
      accountId,
      isBound: false,
      rowVersion: 1,
      createdAt: NOW,
      updatedAt: NOW,
    });
  });

  test("only the first of two changes based on the same reading is made", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const read = await freshTemplate(accountId);
    const endpoint = await freshEndpoint(by(accountId), endpointValues(read.id));
    const author = by(accountId, NOW + 1);
    const options = { isNewVersion: true };

    const values = { ...templateValues("t"), imageName: "a:2" };
    expect(await updateTemplateIfUnchanged(db, author, read, values, options)).toMatchObject({
      rowVersion: 2,
    });
    expect(await updateTemplateIfUnchanged(db, author, read, values, options)).toBeUndefined();
    expect(await findEndpoint(db, endpoint.id)).toMatchObject({ version: 2, rowVersion: 2 });
  });

  test("a change to a taken name is not made and releases nothing", async ({ expect }) => {
    const { accountId } = await freshAccount();
    await freshTemplate(accountId, "taken");
    const read = await freshTemplate(accountId);
    const endpoint = await freshEndpoint(by(accountId), endpointValues(read.id));

    const taken = templateValues("taken");
    expect(
      await updateTemplateIfUnchanged(db, by(accountId), read, taken, { isNewVersion: true }),
    ).toBeUndefined();
    expect(await findEndpoint(db, endpoint.id)).toMatchObject({ version: 1, rowVersion: 1 });
  });

  test("a template in use is not deleted, nor one of another account", async ({ expect }) => {
    const [one, two] = [await freshAccount(), await freshAccount()];
    const read = await freshTemplate(one.accountId);
    expect(await deleteTemplateIfUnused(db, by(two.accountId), read)).toBe(false);

    const endpoint = await freshEndpoint(by(one.accountId), endpointValues(read.id));
    expect(await deleteTemplateIfUnused(db, by(one.accountId), read)).toBe(false);
    await deleteEndpointIfUnchanged(db, by(one.accountId), endpoint);
    expect(await deleteTemplateIfUnused(db, by(one.accountId), read)).toBe(true);
  });
});

describe("endpoints", () => {
  test("an endpoint is read as it was written", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { id: templateId } = await freshTemplate(accountId);
    const inserted = await freshEndpoint(by(accountId), endpointValues(templateId));
    expect(await findEndpoint(db, inserted.id)).toEqual(inserted);
  });

  test("a change or deletion based on an older reading is not made", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { id: templateId } = await freshTemplate(accountId);
    const read = await freshEndpoint(by(accountId), endpointValues(templateId));
    const values = endpointValues(templateId);

    const updated = await updateEndpointIfUnchanged(db, by(accountId), read, values, OF_RELEASE);
    expect(updated).toMatchObject({ version: 2, rowVersion: 2 });
    expect(await updateEndpointIfUnchanged(db, by(accountId), read, values, OF_RELEASE)).toBeUndefined();
    expect(await deleteEndpointIfUnchanged(db, by(accountId), read)).toBe(false);
    expect(await findEndpoint(db, read.id)).toMatchObject({ version: 2 });
  });

  test("an endpoint and its inline template change together, as one isNewVersion, or neither does", async ({
    expect,
  }) => {
    const { accountId } = await freshAccount();
    const template = await freshTemplate(accountId);
    const read = await freshEndpoint(by(accountId), endpointValues(template.id));
    const change = { read: template, values: { ...templateValues("t"), imageName: "a:2" } };
    const save = async (endpoint: EndpointRecord, templateChange: typeof change) => {
      const options = { ...OF_RELEASE, templateChange };
      const values = endpointValues(template.id);
      const updated = await updateEndpointIfUnchanged(db, by(accountId), endpoint, values, options);
      const imageName = (await findTemplate(db, accountId, template.id))?.imageName;
      return { version: updated?.version, imageName };
    };
    expect(await save({ ...read, rowVersion: 9 }, change)).toEqual({ version: undefined, imageName: "a:1" });
    expect(await save(read, { ...change, read: { ...template, rowVersion: 9 } })).toEqual({
      version: undefined,
      imageName: "a:1",
    });
    expect(await save(read, change)).toEqual({ version: 2, imageName: "a:2" });

    await freshEndpoint(by(accountId), endpointValues(template.id)); // the template is no longer its own
    const now = await findTemplate(db, accountId, template.id);
    const last = await findEndpoint(db, read.id);
    if (!now || !last) throw new Error("they are gone");
    expect(await save(last, { ...change, read: now })).toEqual({ version: undefined, imageName: "a:2" });
  });

  test("the database itself rejects workersMin above workersMax; nothing is inserted without its template", async ({
    expect,
  }) => {
    const { accountId } = await freshAccount();
    const { id: templateId } = await freshTemplate(accountId);
    const wrongLimits = { ...endpointValues(templateId), workersMin: 4 };
    await expect(freshEndpoint(by(accountId), wrongLimits)).rejects.toThrow();
    const needs = { volumeIds: [], environmentId: null };
    expect(await insertEndpointIfAllowed(db, by(accountId), endpointValues("none"), needs)).toBeUndefined();
    expect(await listEndpoints(db, accountId)).toEqual([]);
  });

  test("a CPU endpoint is configured without GPUs", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const { id: templateId } = await freshTemplate(accountId);
    const values = { ...endpointValues(templateId), gpuIds: null, gpuCount: 0, instanceIds: ["cpu5c-4-8"] };
    const record = await freshEndpoint(by(accountId), values);
    expect(toEndpointConfig(record)).toMatchObject({ gpuTiers: [], excludedGpuModels: [], gpuCount: 0 });
  });
});

describe("join tokens and hosts", () => {
  test("only one of many callers redeems a token", async ({ expect }) => {
    const { accountId } = await freshAccount();
    await insertJoinTokenWithinQuota(db, by(accountId), {
      hash: "once",
      name: "rack",
      expiresAt: NOW + 10,
      apiKeyId: null,
    });

    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(async () => await redeemJoinToken(db, "once", NOW + 9)),
    );
    expect(outcomes.filter((outcome) => outcome !== undefined)).toEqual([{ accountId, apiKeyId: null }]);
  });

  test("an expired or unknown token is not redeemed", async ({ expect }) => {
    const { accountId } = await freshAccount();
    await insertJoinTokenWithinQuota(db, by(accountId), {
      hash: "late",
      name: null,
      expiresAt: NOW + 10,
      apiKeyId: null,
    });

    expect(await redeemJoinToken(db, "late", NOW + 10)).toBeUndefined();
    expect(await redeemJoinToken(db, "unknown", NOW)).toBeUndefined();
  });

  test("a host is found by its token's hash", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const values = { accountId, name: "gpu-1", tokenHash: "host-hash", apiKeyId: null };
    const hostId = (await createHost(db, values, NOW))?.id;
    expect(hostId).toMatch(/^[a-z0-9]{14}$/);
    const found = { hostId, accountId, name: "gpu-1", expiresAt: null };
    expect(await findHostByTokenHash(db, "host-hash")).toEqual(found);
    expect(await findHostByTokenHash(db, "other")).toBeUndefined();
  });
});

describe("webhook secrets", () => {
  test("several callers that need the first one get the same", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const found = await Promise.all(
      [1, 2, 3].map(async () => await ensureWebhookSecrets(env, accountId, NOW)),
    );
    expect(new Set(found.map((secrets) => JSON.stringify(secrets))).size).toBe(1);
    expect(found[0]).toEqual([
      { secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/), createdAt: NOW, validUntil: null },
    ]);
  });

  test("older ones stay valid for their time after a rotation, the newest first", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const [first] = await ensureWebhookSecrets(env, accountId, NOW);
    const [second] = await rotateWebhookSecret(env, by(accountId)); // in the same millisecond
    const third = await rotateWebhookSecret(env, by(accountId, NOW + 5));
    const until = NOW + WEBHOOK_SECRET_OVERLAP_MS;
    expect(third).toEqual([
      { secret: expect.any(String), createdAt: NOW + 5, validUntil: null },
      { ...second, validUntil: until + 5 },
      { ...first, validUntil: until },
    ]);
    expect(await ensureWebhookSecrets(env, accountId, until)).toEqual(third.slice(0, 2));
    expect(await ensureWebhookSecrets(env, accountId, until + 5)).toEqual(third.slice(0, 1));
  });

  test("one in an unknown format is not taken for a secret", async ({ expect }) => {
    const { accountId } = await freshAccount();
    await db.insert(webhookSecret).values({ id: accountId, accountId, secret: "v9:abc", createdAt: NOW });
    expect(await ensureWebhookSecrets(env, accountId, NOW)).toEqual([]);
  });
});

test("ensuring the root key twice makes one key", async ({ expect }) => {
  await ensureRootApiKey(db, "root-hash", NOW);
  await ensureRootApiKey(db, "root-hash", NOW + 1);
  expect(await findApiKeyByHash(db, "root-hash")).toMatchObject({ accountId: "default", isRoot: true });
});
