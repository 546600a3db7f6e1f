import { beforeAll, describe, expect, test } from "vitest";
import { managementSchema } from "../../src/graphql/schema.ts";
import { EdgeClient } from "./edge-client.ts";
import { archive, built, deployed, madeApp, prepared, put } from "./flash-client.ts";
import {
  codeOf,
  freshClient,
  post,
  savedEndpoint,
  savedTemplate,
  savedVolume,
  type Client,
} from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { createHost } from "../../src/db/hosts.ts";
import { openDatabase } from "../../src/db/database.ts";
import { env } from "cloudflare:workers";
import { holding } from "./message-facts.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";

async function savedHost({ accountId }: Client): Promise<string> {
  const values = { accountId, name: "rack-1", tokenHash: crypto.randomUUID(), apiKeyId: null };
  return (await createHost(openDatabase(env.DB), values, Date.now()))?.id ?? "";
}

const SHOWN = "id at apiKeyId apiKeyName operation subjectKind subjectId subjectName fields";

async function entries(client: Pick<Client, "send">, input = "") {
  const argument = input === "" ? "" : `(input: { ${input} })`;
  const { data, errors } = await client.send(`{ myself { auditLog${argument} { ${SHOWN} } } }`);
  if (errors) throw new Error(errors[0].message);
  return data.myself.auditLog;
}

describe("reading", () => {
  let client: Client;
  let template: { id: string; name: string };

  beforeAll(async () => {
    client = await freshClient();
    template = await savedTemplate(client);
    await savedTemplate(client);
    await client.send(`mutation { saveTemplate(input: { id: "${template.id}", readme: "r" }) { id } }`);
    await client.send("mutation { joinTokenCreate { token } }");
  });

  test("the newest entries come first, with the key's name", async ({ expect }) => {
    const all = await entries(client);
    expect(all.map(({ operation }: { operation: string }) => operation)).toEqual([
      "joinTokenCreate",
      "saveTemplate",
      "saveTemplate",
      "saveTemplate",
    ]);
    expect(all[1]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      at: expect.any(String),
      apiKeyId: expect.any(String),
      apiKeyName: "test",
      operation: "saveTemplate",
      subjectKind: "template",
      subjectId: template.id,
      subjectName: template.name,
      fields: ["readme"],
    });
  });

  test("pages follow each other without a gap", async ({ expect }) => {
    const all = await entries(client);
    const first = await entries(client, "limit: 3");
    const second = await entries(client, `limit: 3, before: "${first.at(-1).id}"`);
    expect([...first, ...second]).toEqual(all);
    expect(await entries(client, `before: "${all.at(-1).id}"`)).toEqual([]);
  });

  test("entries are chosen by subject, operation and key", async ({ expect }) => {
    const [{ apiKeyId }] = await entries(client);
    expect(await entries(client, `subjectId: "${template.id}"`)).toHaveLength(2);
    expect(await entries(client, 'subjectKind: "join_token"')).toHaveLength(1);
    expect(await entries(client, 'operation: "saveTemplate"')).toHaveLength(3);
    expect(await entries(client, `apiKeyId: "${apiKeyId}", subjectKind: "template"`)).toHaveLength(3);
    expect(await entries(client, 'apiKeyId: "other"')).toEqual([]);
  });

  test("a limit or cursor that makes no sense is named", async ({ expect }) => {
    await expect(entries(client, "limit: 201")).rejects.toThrow(holding("limit", 1, 200));
    await expect(entries(client, "limit: 0")).rejects.toThrow(holding("limit", 1, 200));
    await expect(entries(client, 'before: "x"')).rejects.toThrow(holding("before"));
  });

  test("another account sees nothing of it", async ({ expect }) => {
    const other = await freshClient();
    expect(await entries(other)).toEqual([]);
    expect(await entries(other, `subjectId: "${template.id}"`)).toEqual([]);
  });

  test("a key that may read the management API may read it, others may not", async ({ expect }) => {
    const query = JSON.stringify({ query: "{ myself { auditLog { id } } }" });
    const reader = await keyWith(client.accountId, { graphql: "read", endpoints: "none" });
    expect((await post(`/?api_key=${reader}`, query)).data.myself.auditLog).toHaveLength(4);
    const caller = await keyWith(client.accountId, { graphql: "none", endpoints: "write" });
    expect(codeOf(await post(`/?api_key=${caller}`, query))).toBe("INSUFFICIENT_PERMISSION");
  });
});

const SAVE_BUDGET = "budgetSave(input: { limit: 10 }) { state }";

/** For every mutation a document that changes something, so that it can be seen to note itself. */
const MUTATIONS: Readonly<Record<string, (client: Client) => Promise<string> | string>> = {
  saveEndpoint: async (client) => {
    const { id } = await savedTemplate(client);
    return `saveEndpoint(input: { name: "e", gpuIds: "AMPERE_16", templateId: "${id}" }) { id }`;
  },
  deleteEndpoint: async (client) => {
    const { id } = await savedEndpoint(client, ", workersMax: 0");
    return `deleteEndpoint(id: "${id}")`;
  },
  saveTemplate: () =>
    'saveTemplate(input: { name: "t", imageName: "i:1", containerDiskInGb: 5, volumeInGb: 0, isServerless: true }) { id }',
  deleteTemplate: async (client) => `deleteTemplate(templateName: "${(await savedTemplate(client)).name}")`,
  podFindAndDeployOnDemand: async () => {
    await podHost();
    return `podFindAndDeployOnDemand(input: { imageName: "a:1", gpuTypeId: "${POD_CARD}" }) { id }`;
  },
  podRentInterruptable: async () => {
    await podHost();
    return `podRentInterruptable(input: { imageName: "a:1", gpuTypeId: "${POD_CARD}" }) { id }`;
  },
  deployCpuPod: async () => {
    await podHost();
    return 'deployCpuPod(input: { imageName: "a:1" }) { id }';
  },
  podEditJob: async (client) =>
    `podEditJob(input: { podId: "${await freshPodId(client)}", imageName: "b:1" }) { id }`,
  podStop: async (client) => `podStop(input: { podId: "${await freshPodId(client)}" }) { id }`,
  podResume: async (client) => `podResume(input: { podId: "${await freshPodId(client)}" }) { id }`,
  podBidResume: async (client) => `podBidResume(input: { podId: "${await freshPodId(client)}" }) { id }`,
  podTerminate: async (client) => `podTerminate(input: { podId: "${await freshPodId(client)}" })`,
  joinTokenCreate: () => "joinTokenCreate { token }",
  joinTokenRevoke: async (client) => {
    const { data } = await client.send("mutation { joinTokenCreate { id } }");
    return `joinTokenRevoke(input: { id: "${data.joinTokenCreate.id}" })`;
  },
  budgetSave: () => SAVE_BUDGET,
  budgetReset: async (client) => {
    await client.send(`mutation { ${SAVE_BUDGET} }`);
    return "budgetReset(input: {}) { state }";
  },
  budgetRemove: async (client) => {
    await client.send(`mutation { ${SAVE_BUDGET} }`);
    return "budgetRemove(input: {})";
  },
  hostUpdate: async (client) =>
    `hostUpdate(input: { id: "${await savedHost(client)}", cordoned: true }) { id }`,
  hostRemove: async (client) => `hostRemove(input: { id: "${await savedHost(client)}" })`,
  webhookSecretRotate: () => "webhookSecretRotate { createdAt }",
  createApiKey: () => 'createApiKey(input: { name: "k", level: ALL }) { token }',
  updateApiKey: async (client) =>
    `updateApiKey(input: { id: "${await freshKeyId(client)}", name: "new" }) { id }`,
  revokeApiKey: async (client) => `revokeApiKey(id: "${await freshKeyId(client)}")`,
  createSignInLink: () => "createSignInLink { expiresAt }",
  endSignIn: async (client) => {
    await client.send("mutation { createSignInLink { url } }");
    const { data } = await client.send("{ signIns { id } }");
    return `endSignIn(id: "${data.signIns[0].id}")`;
  },
  approveFlashAuthRequest: async (client) => {
    const { data } = await client.send("mutation { createFlashAuthRequest { id } }");
    const { id } = data.createFlashAuthRequest;
    return `approveFlashAuthRequest(input: { flashAuthRequestId: "${id}", isApproved: true }) { status }`;
  },
  updateUserSettings: () => `updateUserSettings(input: { pubKey: "${crypto.randomUUID()}" }) { id }`,
  accountCreate: () => 'accountCreate(input: { name: "a" }) { account { id } }',
  updateEndpointTemplate: async (client) => {
    const [endpoint, template] = [await savedEndpoint(client), await savedTemplate(client)];
    return `updateEndpointTemplate(input: { endpointId: "${endpoint.id}", templateId: "${template.id}" }) { id }`;
  },
  rollbackEndpoint: async (client) => {
    const { id } = await savedEndpoint(client);
    await client.send(`mutation { saveEndpoint(input: { id: "${id}", gpuCount: 2 }) { id } }`);
    return `rollbackEndpoint(input: { endpointId: "${id}" }) { id }`;
  },
  secretCreate: () => `secretCreate(input: { name: "${freshName()}", value: "v" }) { id }`,
  secretValueUpdate: async (client) =>
    `secretValueUpdate(input: { id: "${await freshSecretId(client)}", value: "w" }) { id }`,
  secretDescriptionUpdate: async (client) =>
    `secretDescriptionUpdate(input: { id: "${await freshSecretId(client)}", description: "d" }) { id }`,
  secretDelete: async (client) => `secretDelete(id: "${await freshSecretId(client)}")`,
  saveRegistryAuth: () => 'saveRegistryAuth(input: { name: "r", username: "u", password: "p" }) { id }',
  updateRegistryAuth: async (client) =>
    `updateRegistryAuth(input: { id: "${await freshRegistryAuthId(client)}", username: "u", password: "q" }) { id }`,
  deleteRegistryAuth: async (client) =>
    `deleteRegistryAuth(registryAuthId: "${await freshRegistryAuthId(client)}")`,
  createNetworkVolume: () =>
    'createNetworkVolume(input: { name: "v", size: 10, dataCenterId: "EU-RO-1" }) { id }',
  updateNetworkVolume: async (client) =>
    `updateNetworkVolume(input: { id: "${await savedVolume(client)}", size: 4000 }) { id }`,
  deleteNetworkVolume: async (client) => `deleteNetworkVolume(input: { id: "${await savedVolume(client)}" })`,
  createFlashApp: () => `createFlashApp(input: { name: "${freshName()}" }) { id }`,
  deleteFlashApp: async (client) => {
    const { data } = await client.send(
      `mutation { createFlashApp(input: { name: "${freshName()}" }) { id } }`,
    );
    return `deleteFlashApp(flashAppId: "${data.createFlashApp.id}")`;
  },
  createFlashEnvironment: async (client) => {
    const { appId } = await madeApp(client, freshName());
    return `createFlashEnvironment(input: { flashAppId: "${appId}", name: "e" }) { id }`;
  },
  deleteFlashEnvironment: async (client) => {
    const { environmentId } = await madeApp(client, freshName());
    return `deleteFlashEnvironment(flashEnvironmentId: "${environmentId}")`;
  },
  prepareFlashArtifactUpload: async (client) => {
    const { appId } = await madeApp(client, freshName());
    return `prepareFlashArtifactUpload(input: { flashAppId: "${appId}", tarballSize: 10 }) { objectKey }`;
  },
  finalizeFlashArtifactUpload: async (client) => {
    const app = await madeApp(client, freshName());
    const { uploadUrl, objectKey } = await prepared(client, app, { tarballSize: 10 });
    await put(uploadUrl, archive(10));
    return `finalizeFlashArtifactUpload(input: { flashAppId: "${app.appId}", objectKey: "${objectKey}",
      manifest: { resources: {} } }) { id }`;
  },
  updateFlashBuildManifest: async (client) => {
    const buildId = await built(client, await madeApp(client, freshName()));
    return `updateFlashBuildManifest(input: { flashBuildId: "${buildId}", manifest: { resources: {} } }) { id }`;
  },
  deployBuildToEnvironment: async (client) => {
    const app = await madeApp(client, freshName());
    return `deployBuildToEnvironment(input: { flashEnvironmentId: "${app.environmentId}",
      flashBuildId: "${await built(client, app)}" }) { id }`;
  },
  finishFlashDeployment: async (client) => {
    const app = await madeApp(client, freshName());
    await deployed(client, app.environmentId, await built(client, app));
    return `finishFlashDeployment(input: { flashEnvironmentId: "${app.environmentId}", state: "FAILED" }) { id }`;
  },
};
/**
 * These change nothing that is kept: the repository of models is not offered, and a login stores
 * nothing. The end of a session tells of its renewed lease.
 */
const CHANGELESS =
  /^(createFlashAuthRequest$|renewFlashEnvironmentLease$|\w+ModelRepo(Upload)?$|(addModelTo|removeModelFrom)Repo$)/;

/** Each notes its pods as well. */
const MANIFOLD = /^(create|delete)Cluster$/;

const freshName = () => `n-${crypto.randomUUID()}`;

/** A host of the operator, whose pods it runs. */
async function podHost(): Promise<void> {
  await PodAgent.join(new EdgeClient());
}

async function freshPodId(client: Client): Promise<string> {
  await podHost();
  const made = await client.send('mutation { deployCpuPod(input: { imageName: "a:1" }) { id } }');
  return made.data.deployCpuPod.id;
}

async function freshSecretId(client: Client): Promise<string> {
  const made = await client.send(
    `mutation { secretCreate(input: { name: "${freshName()}", value: "v" }) { id } }`,
  );
  return made.data.secretCreate.id;
}

async function freshRegistryAuthId(client: Client): Promise<string> {
  const made = await client.send(
    'mutation { saveRegistryAuth(input: { name: "r", username: "u", password: "p" }) { id } }',
  );
  return made.data.saveRegistryAuth.id;
}

async function freshKeyId(client: Client): Promise<string> {
  const made = await client.send(
    'mutation { createApiKey(input: { name: "k", level: ALL }) { apiKey { id } } }',
  );
  return made.data.createApiKey.apiKey.id;
}

/** Accounts are made by the operator alone, so the operator makes all changes here. */
const operator: Client = {
  accountId: "default",
  key: "test-root-key-of-more-than-32-characters",
  keyHash: "",
  send: async (query, variables = {}) =>
    await post("/?api_key=test-root-key-of-more-than-32-characters", JSON.stringify({ query, variables })),
};

test("every mutation is known to note itself, or to change nothing", ({ expect }) => {
  const fields = Object.keys(managementSchema.getMutationType()?.getFields() ?? {});
  const changing = fields.filter((field) => !CHANGELESS.test(field) && !MANIFOLD.test(field));
  expect(changing.toSorted()).toEqual(Object.keys(MUTATIONS).toSorted());
});

test.each(Object.entries(MUTATIONS))("%s notes itself once", async (operation, write) => {
  const document = await write(operator);
  const before = await entries(operator, `operation: "${operation}", limit: 200`);
  const answer = await operator.send(`mutation { ${document} }`);
  expect(answer.errors).toBeUndefined();
  const after = await entries(operator, `operation: "${operation}", limit: 200`);
  expect(after.slice(1)).toEqual(before);
  expect(after[0]).toMatchObject({ operation, apiKeyName: "root", subjectId: expect.stringMatching(/./) });
});
