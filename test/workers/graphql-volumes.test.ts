import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { auditEntry } from "../../src/db/schema.ts";
import { eq } from "drizzle-orm";
import {
  codeOf,
  freshClient,
  savedEndpoint,
  savedTemplate,
  savedVolume,
  type Client,
} from "./graphql-client.ts";
import { type Issue, issueAt } from "./message-facts.ts";

const ALL = "id name size dataCenterId dataCenter { id name location } storageClusterId storageType";

const create = async (client: Client, fields: string, selection = "id") =>
  await client.send(`mutation { createNetworkVolume(input: { ${fields} }) { ${selection} } }`);
const update = async (client: Client, fields: string, selection = "id") =>
  await client.send(`mutation { updateNetworkVolume(input: { ${fields} }) { ${selection} } }`);
const remove = async (client: Client, id: string) =>
  await client.send(`mutation { deleteNetworkVolume(input: { id: "${id}" }) }`);
const list = async (client: Client, selection = "id") =>
  (await client.send(`{ myself { networkVolumes { ${selection} } } }`)).data.myself.networkVolumes;

describe("creating", () => {
  test("a volume is answered as stored, and listed", async ({ expect }) => {
    const client = await freshClient();
    const answer = await create(client, 'name: " models ", size: 100, dataCenterId: "US-KS-2"', ALL);
    expect(answer.errors).toBeUndefined();
    const volume = answer.data.createNetworkVolume;
    expect(volume).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "models",
      size: 100,
      dataCenterId: "US-KS-2",
      dataCenter: { id: "US-KS-2", name: "US-KS-2", location: "United States" },
      storageClusterId: null,
      storageType: null,
    });
    expect(await list(client, ALL)).toEqual([volume]);
  });

  test("names need not be unique, and the oldest is listed first", async ({ expect }) => {
    const client = await freshClient();
    const ids: string[] = [];
    for (const _ of [1, 2, 3]) ids.push(await savedVolume(client));
    expect(new Set(ids).size).toBe(3);
    const listed: { id: string }[] = await list(client);
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  test("what is missing or out of range is refused by name, and nothing is stored", async ({ expect }) => {
    const client = await freshClient();
    const good = { name: '"v"', size: "10", dataCenterId: '"EU-RO-1"' };
    const rejections: [Partial<Record<keyof typeof good, string>>, Issue][] = [
      [{ name: "null", size: "null", dataCenterId: '""' }, ["name, size, dataCenterId"]],
      [{ size: "null" }, ["size"]],
      [{ size: "0" }, ["size", 1, 4_096]],
      [{ size: "4097" }, ["size", 1, 4_096]],
      [{ name: '" "' }, ["name"]],
      [{ name: `"${"x".repeat(192)}"` }, ["name", 191]],
      [{ dataCenterId: '"nowhere"' }, ["dataCenterId", "OC-AU-1", "CA-MTL-1"]],
      [{ dataCenterId: '"eu-ro-1"' }, ["dataCenterId"]],
      [{ dataCenterId: '"US-XX-9"' }, ["dataCenterId"]],
    ];
    for (const [wrong, issue] of rejections) {
      const fields = Object.entries({ ...good, ...wrong }).map(([field, value]) => `${field}: ${value}`);
      const answer = await create(client, fields.join(", "));
      expect([issue, codeOf(answer)]).toEqual([issue, "INVALID_INPUT"]);
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
    expect((await create(client, 'name: "v", size: 10.5, dataCenterId: "EU-RO-1"')).status).toBe(400);
    expect(await list(client)).toEqual([]);
  });
});

describe("changing", () => {
  test("it is renamed and grows, and keeps what is omitted or null", async ({ expect }) => {
    const client = await freshClient();
    const id = await savedVolume(client);
    const renamed = await update(client, `id: "${id}", name: "new", size: null`, ALL);
    expect(renamed.data.updateNetworkVolume).toMatchObject({ id, name: "new", size: 10 });
    const grown = await update(client, `id: "${id}", size: 4096`, ALL);
    expect(grown.data.updateNetworkVolume).toMatchObject({ id, name: "new", size: 4_096 });
    expect(await list(client, "name size")).toEqual([{ name: "new", size: 4_096 }]);
  });

  test("it never shrinks, also when two grow it at the same time", async ({ expect }) => {
    const client = await freshClient();
    const id = await savedVolume(client);
    const refused = await update(client, `id: "${id}", size: 9`);
    expect(codeOf(refused)).toBe("INVALID_INPUT");
    expect(refused.errors[0].message).toMatch(issueAt("size", 9, 10));
    await Promise.all([update(client, `id: "${id}", size: 50`), update(client, `id: "${id}", size: 90`)]);
    expect(await list(client, "size")).toEqual([{ size: 90 }]);
  });

  test("an unknown id is refused as not found", async ({ expect }) => {
    const client = await freshClient();
    const answer = await update(client, 'id: "none", name: "x"');
    expect(codeOf(answer)).toBe("NETWORK_VOLUME_NOT_FOUND");
    expect(answer.errors[0].message).toMatch(issueAt("id", "'none'"));
    expect(codeOf(await update(client, 'name: "x"'))).toBe("INVALID_INPUT");
  });
});

describe("deleting", () => {
  test("a deleted volume is not found the second time, with the message that clients match", async ({
    expect,
  }) => {
    const client = await freshClient();
    const id = await savedVolume(client);
    expect((await remove(client, id)).body).toEqual({ data: { deleteNetworkVolume: null } });
    expect(await list(client)).toEqual([]);

    const again = await remove(client, id);
    expect(codeOf(again)).toBe("NETWORK_VOLUME_NOT_FOUND");
    expect(again.errors[0].message).toContain("Tried to delete nonexistent network volume");
    expect(again.errors[0].message).toContain("not found");
  });

  test("it is refused while an endpoint names it, in either field", async ({ expect }) => {
    const client = await freshClient();
    const [one, two] = [await savedVolume(client), await savedVolume(client, "US-KS-2")];
    const single = await savedEndpoint(client, `, networkVolumeId: "${one}"`);
    const several = await savedEndpoint(
      client,
      `, networkVolumeIds: [{ networkVolumeId: "${one}" }, { networkVolumeId: "${two}" }]`,
    );

    const refused = await remove(client, one);
    expect(codeOf(refused)).toBe("NETWORK_VOLUME_IN_USE");
    expect(refused.errors[0].message).toContain(single.id);
    expect(refused.errors[0].message).toContain(several.id);
    const other = await remove(client, two);
    expect(codeOf(other)).toBe("NETWORK_VOLUME_IN_USE");
    expect(other.errors[0].message).toContain(several.id);
    expect(other.errors[0].message).not.toContain(single.id);

    await client.send(`mutation { saveEndpoint(input: { id: "${single.id}", networkVolumeId: "" }) { id } }`);
    await client.send(
      `mutation { saveEndpoint(input: { id: "${several.id}", networkVolumeIds: [] }) { id } }`,
    );
    for (const id of [one, two]) expect((await remove(client, id)).errors).toBeUndefined();
  });
});

describe("endpoints", () => {
  const SELECTION = `version networkVolumeId networkVolumeIds { networkVolumeId dataCenterId }
    networkVolume { id name size dataCenterId dataCenter { id } }`;
  const save = async (client: Client, fields: string, selection = SELECTION) =>
    await client.send(`mutation { saveEndpoint(input: { ${fields} }) { ${selection} } }`);

  test("the volumes of an endpoint are shown with their data centers", async ({ expect }) => {
    const client = await freshClient();
    const [one, two] = [await savedVolume(client), await savedVolume(client, "US-KS-2")];
    const single = await savedEndpoint(client, `, networkVolumeId: "${one}"`, SELECTION);
    expect(single).toMatchObject({
      networkVolumeId: one,
      networkVolumeIds: [],
      networkVolume: { id: one, name: "v", size: 10, dataCenterId: "EU-RO-1", dataCenter: { id: "EU-RO-1" } },
    });
    const several = await savedEndpoint(
      client,
      `, networkVolumeIds: [{ networkVolumeId: "${two}" }, { networkVolumeId: "${one}" }]`,
      SELECTION,
    );
    expect(several).toMatchObject({
      networkVolumeId: null,
      networkVolume: null,
      networkVolumeIds: [
        { networkVolumeId: two, dataCenterId: "US-KS-2" },
        { networkVolumeId: one, dataCenterId: "EU-RO-1" },
      ],
    });
  });

  test("a volume that the account has not is refused by field, at creation and after", async ({ expect }) => {
    const [client, other] = [await freshClient(), await freshClient()];
    const [own, foreign] = [await savedVolume(client), await savedVolume(other)];
    const { id } = await savedEndpoint(client);
    const template = await savedTemplate(client);
    for (const start of [`id: "${id}"`, `name: "e", gpuIds: "ADA_24", templateId: "${template.id}"`]) {
      const rejections: Record<string, Issue> = {
        'networkVolumeId: "none"': ["networkVolumeId", "'none'"],
        [`networkVolumeId: "${foreign}"`]: ["networkVolumeId", `'${foreign}'`],
        [`networkVolumeIds: [{ networkVolumeId: "${own}" }, { networkVolumeId: "none" }]`]: [
          "networkVolumeIds",
          "'none'",
        ],
      };
      for (const [field, issue] of Object.entries(rejections)) {
        const answer = await save(client, `${start}, ${field}`);
        expect([field, codeOf(answer)]).toEqual([field, "NETWORK_VOLUME_NOT_FOUND"]);
        expect(answer.errors[0].message).toMatch(issueAt(...issue));
      }
    }
    expect((await client.send("{ myself { endpoints { networkVolumeId } } }")).data.myself.endpoints).toEqual(
      [{ networkVolumeId: null }],
    );
  });

  test("an endpoint has at most one volume per data center", async ({ expect }) => {
    const client = await freshClient();
    const [one, two] = [await savedVolume(client), await savedVolume(client)];
    const { id } = await savedEndpoint(client);
    const answer = await save(
      client,
      `id: "${id}", networkVolumeIds: [{ networkVolumeId: "${one}" }, { networkVolumeId: "${two}" }]`,
    );
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt("networkVolumeIds", one, two, "EU-RO-1"));

    const same = await save(
      client,
      `id: "${id}", networkVolumeId: "${one}", networkVolumeIds: [{ networkVolumeId: "${one}" }]`,
    );
    expect(same.errors).toBeUndefined();
  });

  test("one volume and a list of them replace each other", async ({ expect }) => {
    const client = await freshClient();
    const [one, two, elsewhere] = [
      await savedVolume(client),
      await savedVolume(client),
      await savedVolume(client, "US-KS-2"),
    ];
    const { id } = await savedEndpoint(client, `, networkVolumeId: "${one}"`);
    const listed = await save(
      client,
      `id: "${id}", networkVolumeIds: [{ networkVolumeId: "${two}" }, { networkVolumeId: "${elsewhere}" }]`,
    );
    expect(listed.data.saveEndpoint).toMatchObject({
      version: 2,
      networkVolumeId: null,
      networkVolumeIds: [{ networkVolumeId: two }, { networkVolumeId: elsewhere }],
    });
    const single = await save(client, `id: "${id}", networkVolumeId: "${one}"`);
    expect(single.data.saveEndpoint).toMatchObject({
      version: 3,
      networkVolumeId: one,
      networkVolumeIds: [],
    });
    const renamed = await save(client, `id: "${id}", name: "other"`);
    expect(renamed.data.saveEndpoint).toMatchObject({ version: 3, networkVolumeId: one });
  });
});

test("two accounts never see or change each other's volumes", async ({ expect }) => {
  const [one, two] = [await freshClient(), await freshClient()];
  const id = await savedVolume(one);
  expect(await list(two)).toEqual([]);
  expect(codeOf(await update(two, `id: "${id}", name: "stolen"`))).toBe("NETWORK_VOLUME_NOT_FOUND");
  expect(codeOf(await remove(two, id))).toBe("NETWORK_VOLUME_NOT_FOUND");
  expect(await list(one, "id name")).toEqual([{ id, name: "v" }]);
});

test("every change is in the audit log, and a refused one is not", async ({ expect }) => {
  const client = await freshClient();
  const id = await savedVolume(client);
  await update(client, `id: "${id}", name: "new"`);
  await update(client, `id: "${id}", name: "new", size: 10`);
  await update(client, `id: "${id}", size: 9`);
  await remove(client, id);
  await remove(client, id);

  const entries = await openDatabase(env.DB)
    .select()
    .from(auditEntry)
    .where(eq(auditEntry.accountId, client.accountId));
  expect(
    entries.map(({ operation, subjectKind, subjectId, fields }) => ({
      operation,
      subjectKind,
      subjectId,
      fields,
    })),
  ).toEqual([
    { operation: "createNetworkVolume", subjectKind: "network_volume", subjectId: id, fields: [] },
    { operation: "updateNetworkVolume", subjectKind: "network_volume", subjectId: id, fields: ["name"] },
    { operation: "deleteNetworkVolume", subjectKind: "network_volume", subjectId: id, fields: [] },
  ]);
});
