/** What happens between a check and the write that relies on it. */
import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { describe, test } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey, endpoint, networkVolume, registryAuth, template } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { edgeRoutes } from "../../src/routes.ts";
import {
  codeOf,
  freshClient,
  post,
  savedEndpoint,
  savedTemplate,
  savedVolume,
  type Answer,
  type Client,
} from "./graphql-client.ts";
import { endpointObject } from "./object.ts";
import { withMeantime, withMeantimeBefore } from "./tapped-database.ts";
import { issueAt } from "./message-facts.ts";

const db = openDatabase(env.DB);

/** A client, and what shall happen right before its next write. */
async function interruptedClient() {
  const { bindings, arm } = withMeantime();
  return { client: await freshClient(bindings), before: arm };
}

const saveEndpoint = async (client: Client, fields: string): Promise<Answer> =>
  await client.send(`mutation { saveEndpoint(input: { ${fields} }) { id } }`);

describe("an endpoint is not saved", () => {
  test("on a template that is deleted at that moment", async ({ expect }) => {
    const { client, before } = await interruptedClient();
    const { id } = await savedTemplate(client);
    before(async () => await db.delete(template).where(eq(template.id, id)));
    const answer = await saveEndpoint(client, `gpuIds: "ADA_24", name: "e", templateId: "${id}"`);
    expect(codeOf(answer)).toBe("TEMPLATE_NOT_FOUND");
    expect(answer.errors[0].message).toMatch(issueAt("templateId", `'${id}'`));
  });

  test("with a network volume that is deleted at that moment", async ({ expect }) => {
    const { client, before } = await interruptedClient();
    const { id: templateId } = await savedTemplate(client);
    for (const field of [
      (id: string) => `networkVolumeId: "${id}"`,
      (id: string) => `networkVolumeIds: [{ networkVolumeId: "${id}" }]`,
    ]) {
      const volumeId = await savedVolume(client);
      const remove = async () => await db.delete(networkVolume).where(eq(networkVolume.id, volumeId));
      before(remove);
      const fields = `gpuIds: "ADA_24", name: "e", templateId: "${templateId}", ${field(volumeId)}`;
      expect(codeOf(await saveEndpoint(client, fields))).toBe("NETWORK_VOLUME_NOT_FOUND");
      expect(await db.select().from(endpoint).where(eq(endpoint.templateId, templateId))).toEqual([]);
    }
  });

  test("with another template or volume, if that is deleted at that moment", async ({ expect }) => {
    const { client, before } = await interruptedClient();
    const { id } = await savedEndpoint(client);
    const [stored] = await db.select().from(endpoint).where(eq(endpoint.id, id));

    const volumeId = await savedVolume(client);
    before(async () => await db.delete(networkVolume).where(eq(networkVolume.id, volumeId)));
    const withVolume = await saveEndpoint(client, `id: "${id}", networkVolumeId: "${volumeId}"`);
    expect(codeOf(withVolume)).toBe("NETWORK_VOLUME_NOT_FOUND");

    const other = await savedTemplate(client);
    before(async () => await db.delete(template).where(eq(template.id, other.id)));
    const withTemplate = await saveEndpoint(client, `id: "${id}", templateId: "${other.id}"`);
    expect(codeOf(withTemplate)).toBe("TEMPLATE_NOT_FOUND");
    expect(await db.select().from(endpoint).where(eq(endpoint.id, id))).toEqual([stored]);
  });
});

test("a template does not name a registry credential that is deleted at that moment", async ({ expect }) => {
  const { client, before } = await interruptedClient();
  const credential = async (): Promise<string> => {
    const input = 'name: "r", username: "u", password: "p"';
    const { data } = await client.send(`mutation { saveRegistryAuth(input: { ${input} }) { id } }`);
    const { id } = data.saveRegistryAuth;
    before(async () => await db.delete(registryAuth).where(eq(registryAuth.id, id)));
    return id;
  };
  const needed = 'name: "t", imageName: "i", containerDiskInGb: 1, volumeInGb: 0';
  const { id } = await savedTemplate(client);
  for (const fields of [needed, `id: "${id}"`]) {
    const input = `${fields}, containerRegistryAuthId: "${await credential()}"`;
    const answer = await client.send(`mutation { saveTemplate(input: { ${input} }) { id } }`);
    expect(codeOf(answer)).toBe("REGISTRY_AUTH_NOT_FOUND");
  }
  const stored = await db.select().from(template).where(eq(template.accountId, client.accountId));
  expect(stored).toMatchObject([{ id, containerRegistryAuthId: null, rowVersion: 1 }]);
});

describe("a key that is revoked or narrowed while it", () => {
  const narrowed = { graphql: "write", endpoints: "none" } as const;

  test("makes another one leaves none behind", async ({ expect }) => {
    for (const [change, code] of [
      [{ revokedAt: 1 }, "UNAUTHORIZED"],
      [{ permissions: narrowed }, "INSUFFICIENT_PERMISSION"],
    ] as const) {
      const { client, before } = await interruptedClient();
      before(async () => await db.update(apiKey).set(change).where(eq(apiKey.hash, client.keyHash)));
      const answer = await client.send(
        'mutation { createApiKey(input: { name: "k", level: ALL }) { token } }',
      );
      expect(codeOf(answer)).toBe(code);
      expect(await db.select().from(apiKey).where(eq(apiKey.accountId, client.accountId))).toHaveLength(1);
    }
  });

  test("widens or revokes another one does neither", async ({ expect }) => {
    const { client, before } = await interruptedClient();
    const { data } = await client.send(
      'mutation { createApiKey(input: { name: "k", level: READ_ONLY }) { apiKey { id } } }',
    );
    const { id } = data.createApiKey.apiKey;
    const isOther = eq(apiKey.id, id);
    const stored = await db.select().from(apiKey).where(isOther);

    before(async () => await db.update(apiKey).set({ revokedAt: 1 }).where(eq(apiKey.hash, client.keyHash)));
    const widened = await client.send(`mutation { updateApiKey(input: { id: "${id}", level: ALL }) { id } }`);
    expect(codeOf(widened)).toBe("UNAUTHORIZED");
    await db.update(apiKey).set({ revokedAt: null }).where(eq(apiKey.hash, client.keyHash));

    before(async () => await db.update(apiKey).set({ revokedAt: 1 }).where(eq(apiKey.hash, client.keyHash)));
    expect(codeOf(await client.send(`mutation { revokeApiKey(id: "${id}") }`))).toBe("UNAUTHORIZED");
    expect(await db.select().from(apiKey).where(isOther)).toEqual(stored);
  });
});

describe("what is deleted while it is deleted", () => {
  test("was not found, and is not reported as in use", async ({ expect }) => {
    const { client, before } = await interruptedClient();
    const { id: templateId, name } = await savedTemplate(client);
    const volumeId = await savedVolume(client);
    for (const [mutation, remove, code] of [
      [
        `deleteTemplate(templateName: "${name}")`,
        async () => await db.delete(template).where(eq(template.id, templateId)),
        "TEMPLATE_NOT_FOUND",
      ],
      [
        `deleteNetworkVolume(input: { id: "${volumeId}" })`,
        async () => await db.delete(networkVolume).where(eq(networkVolume.id, volumeId)),
        "NETWORK_VOLUME_NOT_FOUND",
      ],
    ] as const) {
      before(remove);
      expect(codeOf(await client.send(`mutation { ${mutation} }`))).toBe(code);
    }
  });
});

test("an endpoint that is deleted while its first call makes its object ready leaves no object behind", async ({
  expect,
}) => {
  for (let question = 1; question <= 4; question += 1) {
    const client = await freshClient();
    const told = await savedEndpoint(client);
    const id = crypto.randomUUID(); // of one whose object was never told
    const [stored] = await db.select().from(endpoint).where(eq(endpoint.id, told.id));
    if (stored === undefined) throw new Error("no endpoint");
    await db.insert(endpoint).values({ ...stored, id });
    const remove = async () => {
      await db.delete(endpoint).where(eq(endpoint.id, id));
      await endpointObject(id).remove();
    };
    const headers = { Authorization: `Bearer ${client.key}` };
    const bindings = withMeantimeBefore(question, remove);
    const response = await edgeRoutes().request(`/v2/${id}/health`, { headers }, bindings);
    expect([question, response.status]).toEqual([question, 404]);
    expect((await endpointObject(id).health()).kind).toBe("unconfigured");
  }
});

describe("while another change gives an endpoint a template of its own", () => {
  async function sharingEndpoint() {
    const { bindings, arm } = withMeantime();
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const change = async (body: object, on: Env = env) => {
      const headers = { Authorization: `Bearer ${client.key}`, "content-type": "application/json" };
      const request = { method: "PATCH", headers, body: JSON.stringify(body) };
      return (await edgeRoutes().request(`/v2/serverless/${id}`, request, on)).status;
    };
    const others: number[] = [];
    arm(async () => others.push(await change({ env: { A: "1" } })));
    const isInline = and(eq(template.accountId, client.accountId), eq(template.isBound, true));
    const inlineOnes = async () => await db.select().from(template).where(isInline);
    return { client, id, bindings, change, others, inlineOnes };
  }

  test("a second one is not lost, and leaves no other template", async ({ expect }) => {
    const { bindings, change, others, inlineOnes } = await sharingEndpoint();
    expect(await change({ image: "example/worker:9" }, bindings)).toBe(200);
    expect(others).toEqual([200]);
    const env = [{ key: "A", value: "1" }];
    expect(await inlineOnes()).toMatchObject([{ imageName: "example/worker:9", env }]);
  });

  test("naming another template removes that one", async ({ expect }) => {
    const { client, id, bindings, others, inlineOnes } = await sharingEndpoint();
    const other = await savedTemplate(client);
    const mutation = `mutation { saveEndpoint(input: { id: "${id}", templateId: "${other.id}" }) { id } }`;
    const body = JSON.stringify({ query: mutation });
    expect((await post(`/?api_key=${client.key}`, body, {}, bindings)).errors).toBeUndefined();
    expect(others).toEqual([200]);
    expect(await inlineOnes()).toEqual([]);
  });
});
