import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { endpointObjectName } from "../../src/durable/ports.ts";
import { madeApp } from "./flash-client.ts";
import {
  codeOf,
  freshClient,
  savedEndpoint,
  savedTemplate,
  savedVolume,
  type Client,
} from "./graphql-client.ts";
import { holding, type Issue, issueAt } from "./message-facts.ts";

const ALL = `id name type userId version aiKey gpuIds gpuCount instanceIds computeType templateId
  template { id } env { key value } workersMin workersMax workersStandby workersPFBTarget idleTimeout scalerType
  scalerValue executionTimeoutMs flashBootType locations networkVolumeId
  networkVolumeIds { networkVolumeId dataCenterId } networkVolume { id dataCenterId } allowedCudaVersions
  minCudaVersion flashEnvironmentId activeBuildid idePodId modelReferences compliance pods { id desiredStatus }`;

const objectOf = (endpointId: string) => env.ENDPOINT.getByName(endpointObjectName(endpointId));

async function save(client: Client, fields: string, selection = "id") {
  return await client.send(`mutation { saveEndpoint(input: { ${fields} }) { ${selection} } }`);
}

describe("creating", () => {
  test("a creation with the three required fields has the documented defaults", async ({ expect }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const answer = await save(client, `gpuIds: "AMPERE_16", name: "e", templateId: "${template.id}"`, ALL);

    expect(answer.errors).toBeUndefined();
    const { id, ...endpoint } = answer.data.saveEndpoint;
    expect(id).toMatch(/^[a-z0-9]{14}$/);
    expect(endpoint).toEqual({
      name: "e",
      type: "QB",
      userId: client.accountId,
      version: 1,
      aiKey: expect.stringMatching(/^era_[0-9a-f]{64}$/),
      gpuIds: "AMPERE_16",
      gpuCount: 1,
      instanceIds: [],
      computeType: "GPU",
      templateId: template.id,
      template: { id: template.id },
      env: [],
      workersMin: 0,
      workersMax: 3,
      workersStandby: 0,
      workersPFBTarget: 0,
      idleTimeout: 5,
      scalerType: "QUEUE_DELAY",
      scalerValue: 4,
      executionTimeoutMs: 600_000,
      flashBootType: null,
      locations: null,
      networkVolumeId: null,
      networkVolumeIds: [],
      networkVolume: null,
      allowedCudaVersions: null,
      minCudaVersion: null,
      flashEnvironmentId: null,
      activeBuildid: null,
      idePodId: null,
      modelReferences: [],
      compliance: [],
      pods: [],
    });
  });

  test("the documented example, with its unquoted enum and empty strings, is stored as sent", async ({
    expect,
  }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const answer = await client.send(
      `mutation { saveEndpoint(input: { gpuIds: "AMPERE_16", idleTimeout: 5, locations: "US", name: "Generated Endpoint",
        networkVolumeId: "", scalerType: "QUEUE_DELAY", scalerValue: 4, templateId: "${template.id}", workersMax: 3,
        workersMin: 0, flashBootType: FLASHBOOT }) { gpuIds id idleTimeout locations name flashBootType scalerType
        scalerValue templateId workersMax workersMin } }`,
    );
    expect(answer.body).toEqual({
      data: {
        saveEndpoint: {
          gpuIds: "AMPERE_16",
          id: expect.any(String),
          idleTimeout: 5,
          locations: "US",
          name: "Generated Endpoint",
          flashBootType: "FLASHBOOT",
          scalerType: "QUEUE_DELAY",
          scalerValue: 4,
          templateId: template.id,
          workersMax: 3,
          workersMin: 0,
        },
      },
    });
  });

  test("every field can be sent in variables, and ignored ones do no harm", async ({ expect }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const [one, two] = [await savedVolume(client), await savedVolume(client, "US-KS-2")];
    const { environmentId } = await madeApp(client);
    const input = {
      name: " all ",
      type: "QB",
      gpuIds: "ADA_24, AMPERE_80,-NVIDIA A100-SXM4-80GB",
      gpuCount: 2,
      instanceIds: [],
      templateId: template.id,
      workersMin: 1,
      workersMax: 5,
      workersPFBTarget: 0,
      idleTimeout: 3_600,
      scalerType: "REQUEST_COUNT",
      scalerValue: 1,
      executionTimeoutMs: 0,
      flashBootType: "PRIORITY_FLASHBOOT",
      locations: "EU-RO-1, US-KS-2,GB",
      networkVolumeId: null,
      networkVolumeIds: [{ networkVolumeId: one }, null, { networkVolumeId: two }],
      allowedCudaVersions: "12.8, 13.0",
      minCudaVersion: "12.8",
      env: [{ key: "A", value: "1" }],
      flashEnvironmentId: environmentId,
      compliance: ["GDPR"],
      bindEndpoint: true,
      hubReleaseId: "",
      modelName: null,
      modelReferences: [],
      repo: {},
      cloudStorageConfig: null,
    };
    const answer = await client.send(
      `mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { ${ALL} } }`,
      { input },
    );
    expect(answer.errors).toBeUndefined();
    expect(answer.data.saveEndpoint).toMatchObject({
      name: "all",
      gpuIds: "ADA_24, AMPERE_80,-NVIDIA A100-SXM4-80GB",
      gpuCount: 2,
      workersMin: 1,
      workersMax: 5,
      idleTimeout: 3_600,
      scalerType: "REQUEST_COUNT",
      executionTimeoutMs: 600_000,
      flashBootType: "PRIORITY_FLASHBOOT",
      locations: "EU-RO-1,US-KS-2,GB",
      networkVolumeIds: [
        { networkVolumeId: one, dataCenterId: "EU-RO-1" },
        { networkVolumeId: two, dataCenterId: "US-KS-2" },
      ],
      allowedCudaVersions: "12.8,13.0",
      minCudaVersion: "12.8",
      env: [{ key: "A", value: "1" }],
      flashEnvironmentId: environmentId,
      compliance: ["GDPR"],
    });
  });

  test.for([
    ["modelName", "acme/model"],
    ["hubReleaseId", "cm8h09d9n000008jvh2rqdsmb"],
    ["repo", { url: "https://github.com/acme/worker" }],
    ["cloudStorageConfig", { bucketName: "models" }],
  ] as const)("%s is refused unless it is empty", async ([field, value], { expect }) => {
    const client = await freshClient();
    const input = { name: "e", gpuIds: "AMPERE_16", template: { imageName: "a:1" } };
    const save = async (sent: unknown) =>
      await client.send("mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id } }", {
        input: { ...input, [field]: sent },
      });
    const refused = await save(value);
    expect(codeOf(refused)).toBe("INVALID_INPUT");
    expect(refused.errors[0].message).toMatch(issueAt(field));
    expect((await save(null)).errors).toBeUndefined();
  });

  describe("a dry run", () => {
    const dryRun = async (client: Client, mutation: string, type: string, input: object) =>
      await client.send(
        `mutation ($input: ${type}) { done: ${mutation}(input: $input, dryRun: true) { id } }`,
        {
          input,
        },
      );
    const template = { imageName: "a:1", containerDiskInGb: 5 };

    test("accepts what a creation would, and writes nothing", async ({ expect }) => {
      const client = await freshClient();
      const creations = [
        ["saveEndpoint", "EndpointInput", { name: "e", gpuIds: "AMPERE_16", template }],
        ["saveTemplate", "SaveTemplateInput", { name: "t", ...template, volumeInGb: 0 }],
        ["createNetworkVolume", "CreateNetworkVolumeInput", { name: "v", size: 10, dataCenterId: "EU-RO-1" }],
        ["saveRegistryAuth", "SaveRegistryAuthInput", { name: "r", username: "u", password: "p" }],
        ["secretCreate", "SecretCreateInput", { name: "s", value: "v" }],
      ] as const;
      for (const [mutation, type, input] of creations) {
        expect((await dryRun(client, mutation, type, input)).body).toEqual({ data: { done: null } });
      }
      const { data } =
        await client.send(`{ myself { endpoints { id } podTemplates { id } networkVolumes { id }
      containerRegistryCreds { id } secrets { id } } }`);
      expect(new Set(Object.values(data.myself as object).map((list) => list.length))).toEqual(new Set([0]));
    });

    test("refuses what a creation would refuse, and changes", async ({ expect }) => {
      const client = await freshClient();
      const { name } = await savedTemplate(client);
      const { id } = await savedEndpoint(client);
      const input = { name: "e", gpuIds: "AMPERE_16", template };
      const codes = await Promise.all(
        (
          [
            ["saveEndpoint", "EndpointInput", { ...input, templateId: undefined, template: undefined }],
            ["saveEndpoint", "EndpointInput", { ...input, networkVolumeId: "nothing" }],
            ["saveEndpoint", "EndpointInput", { ...input, template: { ...template, name } }],
            ["saveEndpoint", "EndpointInput", { ...input, id }],
            ["saveEndpoint", "EndpointInput", { ...input, flashEnvironmentId: "any" }],
            ["saveTemplate", "SaveTemplateInput", { ...template, name, volumeInGb: 0 }],
            ["createNetworkVolume", "CreateNetworkVolumeInput", { name: "v", size: 10 }],
          ] as const
        ).map(async ([mutation, type, sent]) => codeOf(await dryRun(client, mutation, type, sent))),
      );
      expect(codes).toEqual([
        "INVALID_INPUT",
        "NETWORK_VOLUME_NOT_FOUND",
        "TEMPLATE_NAME_TAKEN",
        "INVALID_INPUT",
        "INVALID_INPUT",
        "TEMPLATE_NAME_TAKEN",
        "INVALID_INPUT",
      ]);
    });
  });

  test("a CPU endpoint has instanceIds instead of gpuIds", async ({ expect }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const answer = await save(
      client,
      `name: "cpu", instanceIds: ["cpu5c-4-8", "cpu3g-1-4"], gpuIds: "", gpuCount: 0, templateId: "${template.id}"`,
      "gpuIds gpuCount instanceIds computeType",
    );
    expect(answer.body).toEqual({
      data: {
        saveEndpoint: {
          gpuIds: null,
          gpuCount: 0,
          instanceIds: ["cpu5c-4-8", "cpu3g-1-4"],
          computeType: "CPU",
        },
      },
    });
  });

  test("a load-balanced endpoint scales by request count", async ({ expect }) => {
    const client = await freshClient();
    expect(await savedEndpoint(client, ', type: "LB"', "type scalerType")).toMatchObject({
      type: "LB",
      scalerType: "REQUEST_COUNT",
    });
    const template = await savedTemplate(client);
    const refused = await save(
      client,
      `name: "e", gpuIds: "ADA_24", templateId: "${template.id}", type: "LB", scalerType: "QUEUE_DELAY"`,
    );
    expect(codeOf(refused)).toBe("INVALID_INPUT");
    expect(refused.errors[0].message).toContain("REQUEST_COUNT");
  });

  test("a name is kept as it is sent, without a suffix for fast starts", async ({ expect }) => {
    const client = await freshClient();
    const fields = ", flashBootType: FLASHBOOT";
    const { id } = await savedEndpoint(client, fields, "id");
    for (const name of ["endpoint", "endpoint -fb", "x".repeat(191)]) {
      const answer = await save(client, `id: "${id}", name: "${name}", flashBootType: FLASHBOOT`, "name");
      expect(answer.data.saveEndpoint.name).toBe(name);
    }
    expect(codeOf(await save(client, `id: "${id}", name: "${"x".repeat(192)}"`))).toBe("INVALID_INPUT");
  });

  test("names need not be unique", async ({ expect }) => {
    const client = await freshClient();
    const [one, two] = [await savedEndpoint(client), await savedEndpoint(client)];
    expect(one.id).not.toBe(two.id);
  });

  test("the fields that a creation lacks are named", async ({ expect }) => {
    const client = await freshClient();
    const missing: Record<string, Issue> = {
      "": ["name, gpuIds, templateId"],
      'name: "e", templateId: "t"': ["gpuIds"],
      'name: "e", gpuIds: "ADA_24"': ["templateId"],
      'gpuIds: "ADA_24", templateId: "t", id: ""': ["name"],
    };
    for (const [fields, issue] of Object.entries(missing)) {
      const answer = await save(client, fields);
      expect(codeOf(answer)).toBe("INVALID_INPUT");
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
  });

  test("fields out of their range are refused by name, with what is allowed", async ({ expect }) => {
    const client = await freshClient();
    const rejections: Record<string, Issue> = {
      'gpuIds: "ADA_25"': ["gpuIds", "'ADA_25'", "AMPERE_16", "AMPERE_24", "ADA_24"],
      'gpuIds: "-NVIDIA A40"': ["gpuIds"],
      'gpuIds: "AMPERE_16,-NVIDIA A4000"': ["gpuIds", "'-NVIDIA A4000'", "'-NVIDIA RTX A4000'"],
      'gpuIds: "AMPERE_16,-Quadro"': ["gpuIds", "'-Quadro'", "AMPERE_16"],
      [`gpuIds: "ADA_24,-${"x".repeat(4_090)}"`]: ["gpuIds", 4_096],
      [`locations: "${"EU-RO-1,".repeat(513)}"`]: ["locations", 4_096],
      'locations: "EU-RO-1234"': ["locations", "'EU-RO-1234'"],
      "gpuCount: -1": ["gpuCount", 0],
      'instanceIds: ["cpu5c-4"]': ["instanceIds[0]", "<family>-<vcpu>-<memory>"],
      'instanceIds: ["cpu3g-1-4", "cpu9x-1-2"]': ["instanceIds[1]", "'cpu9x'", "cpu3c", "cpu3g"],
      'instanceIds: ["cpu5c-4-16"]': ["instanceIds[0]", 4, "cpu5c", 8, "cpu5c-4-8"],
      'instanceIds: ["cpu5c-64-128"]': ["instanceIds[0]", 32],
      [`env: [${'{ key: "A", value: "1" }, '.repeat(51)}]`]: ["env", 50],
      'gpuIds: "ADA_24", instanceIds: ["cpu5c-4-8"]': ["instanceIds", "gpuIds"],
      'type: "QUEUE"': ["type", "QB", "LB"],
      'scalerType: "QUEUE"': ["scalerType", "QUEUE_DELAY", "REQUEST_COUNT"],
      "scalerValue: 0": ["scalerValue", 1],
      "idleTimeout: 0": ["idleTimeout", 1, 3_600],
      "idleTimeout: 3601": ["idleTimeout", 1, 3_600],
      "workersMin: -1": ["workersMin", 0, 1_000],
      "executionTimeoutMs: 4999": ["executionTimeoutMs", 5_000, 604_800_000],
      "executionTimeoutMs: 604800001": ["executionTimeoutMs"],
      "queueDepthMax: 0": ["queueDepthMax", 1, 1_000_000],
      "queueDepthMax: 1000001": ["queueDepthMax"],
      'locations: "US,XX"': ["locations", "'XX'", "CZ", "FR", "NO", "RO", "US"],
      'allowedCudaVersions: "12.8,9"': ["allowedCudaVersions", "'9'", "12.8"],
      'minCudaVersion: "12"': ["minCudaVersion", "12.8"],
      'name: ""': ["name"],
      'env: [{ key: "", value: "x" }]': ["env[0].key"],
      'templateId: "t", template: { imageName: "a:1" }': ["template", "templateId"],
      'template: { imageName: "" }': ["template.imageName"],
      'name: "e", gpuIds: "ADA_24", template: { imageName: "not valid image" }': [
        "imageName",
        "'not valid image'",
      ],
    };
    for (const [field, issue] of Object.entries(rejections)) {
      const answer = await save(client, field);
      expect([field, answer.status, codeOf(answer)]).toEqual([field, 200, "INVALID_INPUT"]);
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
    const template = await savedTemplate(client);
    const limits = await save(
      client,
      `name: "e", gpuIds: "ADA_24", templateId: "${template.id}", workersMin: 4`,
    );
    expect(limits.errors[0].message).toMatch(issueAt("workersMin", 4, 3));
    const { data } = await client.send("{ myself { endpoints { id } } }");
    expect(data.myself.endpoints).toEqual([]);
  });

  test("a template of Pods is refused, and one that an endpoint has stays Serverless", async ({ expect }) => {
    const client = await freshClient();
    const { data } = await client.send(`mutation { saveTemplate(input: { containerDiskInGb: 5,
      imageName: "None", name: "of pods", volumeInGb: 5 }) { id } }`);
    const fields = `gpuIds: "ADA_24", templateId: "${data.saveTemplate.id}"`;
    const refused = await save(client, `name: "e", ${fields}`);
    expect(codeOf(refused)).toBe("INVALID_INPUT");
    expect(refused.errors[0].message).toMatch(issueAt("templateId"));

    const endpoint = await savedEndpoint(client);
    expect(codeOf(await save(client, `id: "${endpoint.id}", ${fields}`))).toBe("INVALID_INPUT");
    const change = `mutation { saveTemplate(input: { id: "${endpoint.templateId}", isServerless: false }) { id } }`;
    expect(codeOf(await client.send(change))).toBe("TEMPLATE_IN_USE");
  });

  test("an unknown template is refused", async ({ expect }) => {
    const client = await freshClient();
    const answer = await save(client, 'name: "e", gpuIds: "ADA_24", templateId: "none"');
    expect(codeOf(answer)).toBe("TEMPLATE_NOT_FOUND");
    expect(answer.errors[0].message).toMatch(holding("none"));
  });
});

describe("inline templates", () => {
  const inline = (fields: string) => `name: "e", gpuIds: "ADA_24", template: { ${fields} }`;

  test("an inline template becomes a Serverless template of the endpoint", async ({ expect }) => {
    const client = await freshClient();
    const answer = await save(
      client,
      inline(`advancedStart: false, config: {}, containerDiskInGb: 64, containerRegistryAuthId: "", dockerArgs: "",
        env: [{ key: "FLASH_APP", value: "app" }], imageName: "flash:1", name: "E_1__PodTemplate_2", ports: "",
        startScript: ""`),
      "templateId template { id name imageName containerDiskInGb volumeInGb isServerless env { key value } config }",
    );
    expect(answer.errors).toBeUndefined();
    const { templateId, template } = answer.data.saveEndpoint;
    expect(template).toEqual({
      id: templateId,
      name: "E_1__PodTemplate_2",
      imageName: "flash:1",
      containerDiskInGb: 64,
      volumeInGb: 0,
      isServerless: true,
      env: [{ key: "FLASH_APP", value: "app" }],
      config: {},
    });
  });

  test("a name and a disk size need not be sent, an image must", async ({ expect }) => {
    const client = await freshClient();
    const answer = await save(client, inline('imageName: "a:1"'), "template { name containerDiskInGb }");
    expect(answer.data.saveEndpoint.template).toEqual({
      name: expect.stringMatching(/^e__template_/),
      containerDiskInGb: 50,
    });
    const refused = await save(client, inline('name: "t"'));
    expect(refused.errors[0].message).toMatch(issueAt("imageName"));
  });

  test("the same inline name again takes the template over instead of failing", async ({ expect }) => {
    const client = await freshClient();
    const first = await save(client, inline('name: "t", imageName: "a:1"'), "id templateId");
    const second = await save(
      client,
      inline('name: "t", imageName: "a:2"'),
      "id templateId template { imageName }",
    );

    expect(second.data.saveEndpoint.templateId).toBe(first.data.saveEndpoint.templateId);
    expect(second.data.saveEndpoint.template.imageName).toBe("a:2");
  });

  test("the name of a template that is not inline is taken", async ({ expect }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const answer = await save(client, inline(`name: "${template.name}", imageName: "a:1"`));
    expect(codeOf(answer)).toBe("TEMPLATE_NAME_TAKEN");
  });

  test("it goes with the last endpoint that uses it", async ({ expect }) => {
    const client = await freshClient();
    const fields = inline('name: "t", imageName: "a:1"').replace('"e"', '"live-e"');
    const first = await save(client, fields, "id templateId");
    const second = await save(client, fields, "id");
    const { templateId } = first.data.saveEndpoint;
    const template = async () =>
      (await client.send(`{ podTemplate(id: "${templateId}") { id } }`)).data.podTemplate;

    await client.send(`mutation { deleteEndpoint(id: "${first.data.saveEndpoint.id}") }`);
    expect(await template()).toEqual({ id: templateId });
    await client.send(`mutation { deleteEndpoint(id: "${second.data.saveEndpoint.id}") }`);
    expect(await template()).toBeNull();
  });

  test("in an update it changes the endpoint's own template, or replaces a shared one", async ({
    expect,
  }) => {
    const client = await freshClient();
    const created = await save(
      client,
      inline('name: "t", imageName: "a:1", dockerArgs: "run"'),
      "id templateId",
    );
    const { id, templateId } = created.data.saveEndpoint;
    const changed = await save(
      client,
      `id: "${id}", template: { imageName: "a:2" }`,
      "version templateId template { imageName dockerArgs }",
    );
    expect(changed.data.saveEndpoint).toEqual({
      version: 2,
      templateId,
      template: { imageName: "a:2", dockerArgs: "run" },
    });

    const both = await save(
      client,
      `id: "${id}", gpuIds: "ADA_48_PRO", template: { imageName: "a:3" }`,
      "version gpuIds template { imageName }",
    );
    expect(both.data.saveEndpoint).toEqual({
      version: 3, // one release of both
      gpuIds: "ADA_48_PRO",
      template: { imageName: "a:3" },
    });

    const user = await savedEndpoint(client);
    const replaced = await save(
      client,
      `id: "${user.id}", template: { imageName: "b:1" }`,
      "version templateId template { imageName }",
    );
    expect(replaced.data.saveEndpoint).toMatchObject({ version: 2, template: { imageName: "b:1" } });
    expect(replaced.data.saveEndpoint.templateId).not.toBe(user.templateId);
  });
});

describe("changing", () => {
  test("an update keeps what it omits or sends as null", async ({ expect }) => {
    const client = await freshClient();
    const before = await savedEndpoint(
      client,
      ', workersMax: 7, idleTimeout: 42, scalerValue: 9, locations: "US", flashBootType: FLASHBOOT, env: [{ key: "A", value: "1" }]',
      ALL,
    );
    const answer = await save(
      client,
      `id: "${before.id}", name: "renamed", workersMin: 1, scalerType: null, idleTimeout: null, env: null`,
      ALL,
    );
    expect(answer.data.saveEndpoint).toEqual({ ...before, name: "renamed", workersMin: 1 });
  });

  test("null and the empty string clear what can be cleared", async ({ expect }) => {
    const client = await freshClient();
    const volumeId = await savedVolume(client);
    const filled = `, flashBootType: FLASHBOOT, locations: "US", networkVolumeId: "${volumeId}", networkVolumeIds: [{ networkVolumeId: "${volumeId}" }], minCudaVersion: "12.8", allowedCudaVersions: "12.8"`;
    const clearings = [
      'locations: "", networkVolumeId: "", networkVolumeIds: [], minCudaVersion: "", allowedCudaVersions: ""',
      "locations: null, networkVolumeId: null, networkVolumeIds: null, minCudaVersion: null, allowedCudaVersions: null",
    ];
    for (const clearing of clearings) {
      const { id } = await savedEndpoint(client, filled);
      const selection =
        "locations networkVolumeId networkVolumeIds { networkVolumeId } minCudaVersion allowedCudaVersions flashBootType version";
      const answer = await save(client, `id: "${id}", flashBootType: null, ${clearing}`, selection);
      expect(answer.data.saveEndpoint).toEqual({
        locations: null,
        networkVolumeId: null,
        networkVolumeIds: [],
        minCudaVersion: null,
        allowedCudaVersions: null,
        flashBootType: null,
        version: 2,
      });
    }
  });

  test("zero or null for the execution timeout means the default again", async ({ expect }) => {
    const client = await freshClient();
    for (const value of ["0", "null"]) {
      const { id } = await savedEndpoint(client, ", executionTimeoutMs: 30000");
      const kept = await save(client, `id: "${id}", workersMax: 2`, "executionTimeoutMs");
      expect(kept.data.saveEndpoint.executionTimeoutMs).toBe(30_000);
      const answer = await save(client, `id: "${id}", executionTimeoutMs: ${value}`, "executionTimeoutMs");
      expect(answer.data.saveEndpoint.executionTimeoutMs).toBe(600_000);
    }
  });

  test("the depth of the queue has a high default, and a lower one takes effect at once", async ({
    expect,
  }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client, "");
    const kept = await save(client, `id: "${id}", workersMax: 2`, "queueDepthMax version");
    expect(kept.data.saveEndpoint).toEqual({ queueDepthMax: 1_000_000, version: 1 });
    const answer = await save(client, `id: "${id}", queueDepthMax: 1`, "queueDepthMax version");
    expect(answer.data.saveEndpoint).toEqual({ queueDepthMax: 1, version: 1 });
    const { env } = await import("cloudflare:workers");
    const reply = await env.ENDPOINT.getByName(`${id}#0`).health();
    if (reply.kind !== "health") throw new Error(reply.kind);
    expect(JSON.parse(reply.json)).toMatchObject({ limits: { queueDepth: 1 } });
  });

  test("the type is fixed", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    expect((await save(client, `id: "${id}", type: "QB"`)).errors).toBeUndefined();
    const answer = await save(client, `id: "${id}", type: "LB"`);
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt("type"));
  });

  test("GPUs and CPU instances replace each other", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client, ", gpuCount: 2");
    const selection = "gpuIds gpuCount instanceIds";
    const cpu = await save(client, `id: "${id}", instanceIds: ["cpu5c-4-8"]`, selection);
    expect(cpu.data.saveEndpoint).toEqual({ gpuIds: null, gpuCount: 0, instanceIds: ["cpu5c-4-8"] });
    const gpu = await save(client, `id: "${id}", gpuIds: "ADA_24"`, selection);
    expect(gpu.data.saveEndpoint).toEqual({ gpuIds: "ADA_24", gpuCount: 1, instanceIds: [] });
    expect(codeOf(await save(client, `id: "${id}", gpuCount: 0`))).toBe("INVALID_INPUT");
  });

  test("only what running workers depend on raises the version, and only when it differs", async ({
    expect,
  }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const template = await savedTemplate(client);
    const volumeId = await savedVolume(client);
    const quiet = [
      'name: "other"',
      "workersMin: 1, workersMax: 9",
      'scalerType: "REQUEST_COUNT", scalerValue: 2',
      "idleTimeout: 60",
      "executionTimeoutMs: 60000",
    ];
    const rolling = [
      `templateId: "${template.id}"`,
      'env: [{ key: "A", value: "1" }]',
      'gpuIds: "ADA_24"',
      "gpuCount: 2",
      'allowedCudaVersions: "12.8"',
      'locations: "US"',
      `networkVolumeId: "${volumeId}"`,
      `networkVolumeIds: [{ networkVolumeId: "${volumeId}" }]`,
      "flashBootType: FLASHBOOT",
      'instanceIds: ["cpu5c-4-8"]',
    ];
    const versionAfter = async (fields: string): Promise<number> =>
      (await save(client, `id: "${id}", ${fields}`, "version")).data.saveEndpoint.version;

    for (const fields of quiet) expect([fields, await versionAfter(fields)]).toEqual([fields, 1]);
    let version = 1;
    for (const fields of rolling) {
      version += 1;
      expect([fields, await versionAfter(fields)]).toEqual([fields, version]);
      expect([fields, await versionAfter(fields)]).toEqual([fields, version]);
    }
  });

  test("an unknown id is refused as not found", async ({ expect }) => {
    const client = await freshClient();
    const answer = await save(client, 'id: "none", name: "x"');
    expect(codeOf(answer)).toBe("ENDPOINT_NOT_FOUND");
    expect(answer.errors[0].message).toMatch(holding("none"));
  });

  test("changes at the same time all arrive", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const answers = await Promise.all([
      save(client, `id: "${id}", idleTimeout: 77`),
      save(client, `id: "${id}", workersMax: 8`),
      save(client, `id: "${id}", scalerValue: 6`),
    ]);
    for (const answer of answers) expect(answer.errors).toBeUndefined();
    const { data } = await client.send(
      `{ myself { endpoint(id: "${id}") { idleTimeout workersMax scalerValue } } }`,
    );
    expect(data.myself.endpoint).toEqual({ idleTimeout: 77, workersMax: 8, scalerValue: 6 });
  });
});

describe("a rollback", () => {
  const MADE_OF = `id version gpuCount env { key value } workersMax template { imageName env { key value } }
    releases { version reason }`;
  const rollback = async (client: Client, input: string) =>
    await client.send(`mutation { rollbackEndpoint(input: { ${input} }) { ${MADE_OF} } }`);

  /** Version 1 has image a:1, version 2 image b:1 and two GPUs. */
  async function changedEndpoint(client: Client): Promise<string> {
    const inline = (image: string, value: string) =>
      `template: { name: "own", imageName: "${image}", env: [{ key: "A", value: "${value}" }] }`;
    const first = `name: "e", gpuIds: "ADA_24", workersMax: 2, env: [{ key: "E", value: "1" }]`;
    const { data } = await save(client, `${first}, ${inline("a:1", "first")}`);
    const { id } = data.saveEndpoint;
    await save(client, `id: "${id}", gpuCount: 2, workersMax: 5, env: [], ${inline("b:1", "second")}`);
    return id;
  }

  test("is a new version of what the workers of an earlier one are made of", async ({ expect }) => {
    const client = await freshClient();
    const id = await changedEndpoint(client);
    const { data } = await rollback(client, `endpointId: "${id}"`);
    expect(data.rollbackEndpoint).toEqual({
      id,
      version: 3,
      gpuCount: 1,
      env: [{ key: "E", value: "1" }],
      workersMax: 5,
      template: { imageName: "a:1", env: [{ key: "A", value: "first" }] },
      releases: [
        { version: 3, reason: "rollback to v1" },
        { version: 2, reason: null },
        { version: 1, reason: null },
      ],
    });
    const again = await rollback(client, `endpointId: "${id}", version: 2`);
    expect(again.data.rollbackEndpoint).toMatchObject({ version: 4, gpuCount: 2, env: [] });
  });

  test("to what it is already changes nothing", async ({ expect }) => {
    const client = await freshClient();
    const id = await changedEndpoint(client);
    const { data } = await rollback(client, `endpointId: "${id}", version: 2`);
    expect(data.rollbackEndpoint).toMatchObject({ version: 2 });
  });

  test("leaves a template that other endpoints use as it is", async ({ expect }) => {
    const client = await freshClient();
    const { id, templateId } = await savedEndpoint(client);
    await client.send(
      `mutation { saveTemplate(input: { id: "${templateId}", imageName: "example/worker:2" }) { id } }`,
    );
    const { data } = await rollback(client, `endpointId: "${id}"`);
    expect(data.rollbackEndpoint.template.imageName).toBe("example/worker:1");
    const all = await client.send("{ myself { podTemplates { id imageName } } }");
    expect(all.data.myself.podTemplates).toEqual([{ id: templateId, imageName: "example/worker:2" }]);
  });

  test("to a version that is not stored is refused", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    expect(codeOf(await rollback(client, `endpointId: "${id}"`))).toBe("INVALID_INPUT");
    expect(codeOf(await rollback(client, `endpointId: "${id}", version: 7`))).toBe("INVALID_INPUT");
    for (let count = 2; count <= 12; count += 1) await save(client, `id: "${id}", gpuCount: ${count}`);
    expect(codeOf(await rollback(client, `endpointId: "${id}", version: 2`))).toBe("INVALID_INPUT");
    expect((await rollback(client, `endpointId: "${id}", version: 3`)).data.rollbackEndpoint.gpuCount).toBe(
      3,
    );
  });
});

describe("another template", () => {
  const swap = async (client: Client, endpointId: string, templateId: string) =>
    await client.send(`mutation { updateEndpointTemplate(input: { templateId: "${templateId}",
      endpointId: "${endpointId}" }) { id templateId version } }`);

  test("it takes the place of the one before, as a release", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);
    const template = await savedTemplate(client);
    const expected = { id, templateId: template.id, version: 2 };
    expect((await swap(client, id, template.id)).data.updateEndpointTemplate).toEqual(expected);
    expect((await swap(client, id, template.id)).data.updateEndpointTemplate).toEqual(expected);
  });

  test("an inline template goes when its last endpoint gets another one", async ({ expect }) => {
    const client = await freshClient();
    const template = await savedTemplate(client);
    const create = async (name: string) => {
      const answer = await save(
        client,
        `name: "${name}", gpuIds: "ADA_24", template: { name: "inline", imageName: "a:1" }`,
        "id templateId",
      );
      return answer.data.saveEndpoint as { id: string; templateId: string };
    };
    const [one, two] = [await create("one"), await create("two")];
    expect(two.templateId).toBe(one.templateId);
    const isThere = async () =>
      (await client.send(`{ podTemplate(id: "${one.templateId}") { id } }`)).data.podTemplate !== null;

    await swap(client, one.id, template.id);
    expect(await isThere()).toBe(true);
    await swap(client, two.id, template.id);
    expect(await isThere()).toBe(false);
    await swap(client, one.id, (await savedTemplate(client)).id);
    expect((await client.send(`{ podTemplate(id: "${template.id}") { id } }`)).data.podTemplate).toEqual({
      id: template.id,
    });
  });

  test("unknown ids and those of another account are refused by field", async ({ expect }) => {
    const [client, other] = [await freshClient(), await freshClient()];
    const [own, foreign] = [await savedEndpoint(client), await savedEndpoint(other)];
    const rejections = [
      [await swap(client, foreign.id, own.templateId), "ENDPOINT_NOT_FOUND", "endpointId", foreign.id],
      [await swap(client, "none", own.templateId), "ENDPOINT_NOT_FOUND", "endpointId", "none"],
      [
        await swap(client, own.id, foreign.templateId),
        "TEMPLATE_NOT_FOUND",
        "templateId",
        foreign.templateId,
      ],
      [await swap(client, own.id, ""), "INVALID_INPUT", "templateId"],
    ] as const;
    for (const [answer, code, path, ...facts] of rejections) {
      expect(codeOf(answer)).toBe(code);
      expect(answer.errors[0].message).toMatch(issueAt(path, ...facts));
    }
  });
});

describe("listing", () => {
  test("the documented listing shows all endpoints and no discount", async ({ expect }) => {
    const client = await freshClient();
    const { id, templateId } = await savedEndpoint(client);
    const answer =
      await client.send(`query Endpoints { myself { endpoints { gpuIds id idleTimeout locations name
      networkVolumeId pods { desiredStatus } scalerType scalerValue templateId workersMax workersMin }
      serverlessDiscount { discountFactor type expirationDate } } }`);
    expect(answer.body).toEqual({
      data: {
        myself: {
          endpoints: [
            {
              gpuIds: "AMPERE_16",
              id,
              idleTimeout: 5,
              locations: null,
              name: "endpoint",
              networkVolumeId: null,
              pods: [],
              scalerType: "QUEUE_DELAY",
              scalerValue: 4,
              templateId,
              workersMax: 3,
              workersMin: 0,
            },
          ],
          serverlessDiscount: null,
        },
      },
    });
  });

  test("createdAt is ISO text, and an unknown endpoint is null", async ({ expect }) => {
    const client = await freshClient();
    const { createdAt } = await savedEndpoint(client, "", "createdAt");
    expect(new Date(createdAt).toISOString()).toBe(createdAt);
    const { data } = await client.send('{ myself { endpoint(id: "none") { id } } }');
    expect(data.myself.endpoint).toBeNull();
  });

  test("two accounts never see or change each other's endpoints", async ({ expect }) => {
    const [one, two] = [await freshClient(), await freshClient()];
    const { id, templateId } = await savedEndpoint(one, ", workersMax: 0");

    const { data } = await two.send(`{ myself { endpoints { id } endpoint(id: "${id}") { id } } }`);
    expect(data.myself).toEqual({ endpoints: [], endpoint: null });
    expect(codeOf(await save(two, `id: "${id}", name: "stolen"`))).toBe("ENDPOINT_NOT_FOUND");
    expect(codeOf(await two.send(`mutation { deleteEndpoint(id: "${id}") }`))).toBe("ENDPOINT_NOT_FOUND");
    const foreign = await save(two, `name: "e", gpuIds: "ADA_24", templateId: "${templateId}"`);
    expect(codeOf(foreign)).toBe("TEMPLATE_NOT_FOUND");
    const still = await one.send(`{ myself { endpoint(id: "${id}") { name } } }`);
    expect(still.data.myself.endpoint).toEqual({ name: "endpoint" });
  });
});

describe("deleting", () => {
  const deletionOf = (id: string) => `mutation { deleteEndpoint(id: "${id}") }`;

  test("an endpoint that allows workers is refused until both limits are 0", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await savedEndpoint(client);

    const refused = await client.send(deletionOf(id));
    expect(codeOf(refused)).toBe("ENDPOINT_HAS_WORKERS");
    expect(refused.errors[0].message).toBe(
      `Endpoint ${id} cannot be deleted: set workersMin and workersMax to 0 first.`,
    );
    await save(client, `id: "${id}", workersMin: 0, workersMax: 0`);
    expect((await client.send(deletionOf(id))).body).toEqual({ data: { deleteEndpoint: null } });

    const { data } = await client.send(`{ myself { endpoints { id } endpoint(id: "${id}") { id } } }`);
    expect(data.myself).toEqual({ endpoints: [], endpoint: null });
    expect(codeOf(await client.send(deletionOf(id)))).toBe("ENDPOINT_NOT_FOUND");
    expect((await objectOf(id).health()).kind).toBe("unconfigured");
  });

  test("an endpoint whose life a tool owns is deleted with its workers", async ({ expect }) => {
    const client = await freshClient();
    const { environmentId } = await madeApp(client);
    const bound = await savedEndpoint(client, `, flashEnvironmentId: "${environmentId}"`);
    const live = await savedEndpoint(client);
    await save(client, `id: "${live.id}", name: "live-${live.id}"`);

    for (const { id } of [bound, live]) {
      expect((await client.send(deletionOf(id))).body).toEqual({ data: { deleteEndpoint: null } });
    }
  });

  test("an id must be sent", async ({ expect }) => {
    const client = await freshClient();
    expect(codeOf(await client.send('mutation { deleteEndpoint(id: "") }'))).toBe("INVALID_INPUT");
    expect(codeOf(await client.send("mutation { deleteEndpoint }"))).toBe("INVALID_INPUT");
  });
});
