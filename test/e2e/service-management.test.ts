/**
 * The management section of the service's specification, rule by rule, as its users meet it: string-built
 * documents with the key in the address, over HTTP, against a whole Edgerun with a real worker.
 */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createHelloEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";

const WORKER = `"${process.execPath}" "${resolve(import.meta.dirname, "../support/worker-script.mjs")}"`;
const TIERS = ["AMPERE_16", "AMPERE_24", "ADA_24", "AMPERE_48", "ADA_48_PRO", "AMPERE_80", "ADA_80_PRO"];
const COUNTRIES = ["CZ", "FR", "GB", "NO", "RO", "US"];

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed
type Answer = {
  readonly data: Json;
  readonly errors?: readonly { message: string; extensions: { code: string } }[];
};

let account: AccountHost;
/** An endpoint that has a worker. */
let helloId: string;
beforeAll(async () => {
  account = await startAccountHost("service management", "process");
  helloId = await createHelloEndpoint(account);
  await new QueueClient({ ...account, endpointId: helloId }).runsync({ name: "rule" });
});
afterAll(() => account.stop());

async function post(query: string, key = account.apiKey): Promise<{ status: number; answer: Answer }> {
  const response = await fetch(`${account.baseUrl}/graphql?api_key=${key}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  return { status: response.status, answer: (await response.json()) as Answer };
}

/** The data of a document that must succeed. */
async function ask(query: string): Promise<Json> {
  const { answer } = await post(query);
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

/** Code and message of a document that must be refused. */
async function errorOf(query: string): Promise<string> {
  const { answer } = await post(query);
  const [error] = answer.errors ?? [];
  if (!error) throw new Error(`not refused: ${JSON.stringify(answer.data)}`);
  return `${error.extensions.code} ${error.message}`;
}

async function queue(method: "GET" | "POST", path: string, body?: object): Promise<Json> {
  const response = await fetch(`${account.baseUrl}/v2/${path}`, {
    method,
    headers: { Authorization: `Bearer ${account.apiKey}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return await response.json();
}

const saveTemplate = (fields: string, selection = "id name") =>
  `mutation { saveTemplate(input: { ${fields} }) { ${selection} } }`;
const saveEndpoint = (fields: string, selection = "id") =>
  `mutation { saveEndpoint(input: { ${fields} }) { ${selection} } }`;

let templates = 0;
async function freshTemplate(fields = ""): Promise<{ id: string; name: string }> {
  templates += 1;
  const required = `containerDiskInGb: 5, imageName: "any:1", name: "rule ${templates}", volumeInGb: 0`;
  return (await ask(saveTemplate(`${required}, isServerless: true ${fields}`))).saveTemplate;
}

async function freshEndpoint(
  fields = "",
  templateFields = "",
): Promise<{ id: string; template: { id: string; name: string } }> {
  const template = await freshTemplate(templateFields);
  const required = `gpuIds: "ADA_24", name: "rule", templateId: "${template.id}"`;
  const { saveEndpoint: saved } = await ask(saveEndpoint(`${required} ${fields}`));
  return { ...saved, template };
}

describe("authentication", () => {
  test("the key stands in the address; without one, or with a wrong one, the answer is 401", async ({
    expect,
  }) => {
    expect((await post("{ myself { id } }")).status).toBe(200);
    for (const key of ["", "wrong", "er_wrong"]) {
      const { status, answer } = await post("{ myself { id } }", key);
      expect(status).toBe(401);
      expect(answer.errors).toMatchObject([{ extensions: { code: "UNAUTHORIZED" } }]);
    }
  });
});

describe("endpoints", () => {
  test("saveEndpoint without an id creates, with an id modifies, and answers what is selected", async ({
    expect,
  }) => {
    const { id, template } = await freshEndpoint();
    const fields = `id: "${id}", gpuIds: "AMPERE_16", name: "changed", templateId: "${template.id}", workersMax: 0,
      flashBootType: FLASHBOOT, idleTimeout: 7, locations: "US", networkVolumeId: "", scalerType: "REQUEST_COUNT",
      scalerValue: 2, workersMin: 0, type: "QB"`;
    const selection = `id name gpuIds templateId type idleTimeout locations flashBootType scalerType scalerValue
      workersMin workersMax networkVolumeId`;
    expect((await ask(saveEndpoint(fields, selection))).saveEndpoint).toEqual({
      id,
      name: "changed",
      gpuIds: "AMPERE_16",
      templateId: template.id,
      type: "QB",
      idleTimeout: 7,
      locations: "US",
      flashBootType: "FLASHBOOT",
      scalerType: "REQUEST_COUNT",
      scalerValue: 2,
      workersMin: 0,
      workersMax: 0,
      networkVolumeId: null,
    });
  });

  test("creating needs gpuIds, name and templateId, and each that is missing is named", async ({
    expect,
  }) => {
    const { id } = await freshTemplate();
    const all = { gpuIds: '"ADA_24"', name: '"n"', templateId: `"${id}"` };
    for (const missing of Object.keys(all)) {
      const rest = Object.entries(all).filter(([field]) => field !== missing);
      const fields = rest.map(([field, value]) => `${field}: ${value}`).join(", ");
      expect(await errorOf(saveEndpoint(fields))).toMatch(new RegExp(`^INVALID_INPUT ${missing}: `));
    }
  });

  test.for(TIERS)("the tier %s is allowed", async (tier, { expect }) => {
    const { id, template } = await freshEndpoint();
    const fields = `id: "${id}", name: "t", templateId: "${template.id}", gpuIds: "${tier}"`;
    expect((await ask(saveEndpoint(fields, "gpuIds"))).saveEndpoint).toEqual({ gpuIds: tier });
  });

  test("any other tier, place, scaler or type is refused with what is allowed", async ({ expect }) => {
    const { id } = await freshTemplate();
    const create = (fields: string) => saveEndpoint(`name: "n", templateId: "${id}", ${fields}`);
    expect(await errorOf(create('gpuIds: "VOODOO_2"'))).toMatch(
      /^INVALID_INPUT gpuIds: .*AMPERE_16.*ADA_80_PRO/,
    );
    expect(await errorOf(create('gpuIds: "ADA_24", locations: "MARS"'))).toMatch(
      /^INVALID_INPUT locations: .*CZ, FR/,
    );
    expect(await errorOf(create('gpuIds: "ADA_24", scalerType: "HOPE"'))).toMatch(
      /^INVALID_INPUT scalerType: .*QUEUE_DELAY, REQUEST_COUNT/,
    );
    expect(await errorOf(create('gpuIds: "ADA_24", type: "XX"'))).toMatch(/^INVALID_INPUT type: .*QB, LB/);
    expect(await errorOf(create('gpuIds: "ADA_24", workersMin: 4, workersMax: 2'))).toMatch(
      /^INVALID_INPUT workersMin/,
    );
  });

  test("locations take every country, and empty or null means any", async ({ expect }) => {
    const { id } = await freshEndpoint();
    const save = async (locations: string) =>
      (await ask(saveEndpoint(`id: "${id}", locations: ${locations}`, "locations"))).saveEndpoint.locations;
    expect(await save(`"${COUNTRIES.join(",")}"`)).toBe(COUNTRIES.join(","));
    expect(await save('""')).toBeNull();
    await save('"US"');
    expect(await save("null")).toBeNull();
  });

  test("the type is QB unless LB is asked for, and stays what it was", async ({ expect }) => {
    const queued = await freshEndpoint();
    const balanced = await freshEndpoint(', type: "LB"');
    const { myself } = await ask("{ myself { endpoints { id type } } }");
    const typeOf = (id: string) => myself.endpoints.find((endpoint: Json) => endpoint.id === id)?.type;
    expect([typeOf(queued.id), typeOf(balanced.id)]).toEqual(["QB", "LB"]);
    expect(await errorOf(saveEndpoint(`id: "${queued.id}", type: "LB"`))).toMatch(/^INVALID_INPUT type: /);
  });

  test("myself lists the endpoints with their pods, and a discount or null", async ({ expect }) => {
    const { id } = await freshEndpoint(", workersMax: 0");
    const { myself } =
      await ask(`query { myself { endpoints { gpuIds id idleTimeout locations name networkVolumeId
      pods { desiredStatus } scalerType scalerValue templateId workersMax workersMin }
      serverlessDiscount { discountFactor type expirationDate } } }`);
    const listed = myself.endpoints.find((endpoint: Json) => endpoint.id === id);
    expect(listed).toMatchObject({ gpuIds: "ADA_24", name: "rule", pods: [], workersMax: 0, workersMin: 0 });
    expect(myself.serverlessDiscount).toBeNull();
    const running = myself.endpoints.find((endpoint: Json) => endpoint.id === helloId);
    for (const pod of running.pods) expect(pod).toEqual({ desiredStatus: expect.stringMatching(/^[A-Z]+$/) });
  });

  test("deleteEndpoint needs both worker limits at 0, answers null, and removes the endpoint", async ({
    expect,
  }) => {
    const { id } = await freshEndpoint(", workersMin: 0, workersMax: 1");
    const remove = `mutation { deleteEndpoint(id: "${id}") }`;
    expect(await errorOf(remove)).toMatch(/^ENDPOINT_HAS_WORKERS .*workersMin and workersMax to 0/);
    await ask(saveEndpoint(`id: "${id}", workersMin: 0, workersMax: 0`));
    expect(await ask(remove)).toEqual({ deleteEndpoint: null });
    expect(await ask(`{ myself { endpoint(id: "${id}") { id } } }`)).toEqual({ myself: { endpoint: null } });
    expect(await errorOf(remove)).toMatch(/^ENDPOINT_NOT_FOUND /);
    expect(await queue("GET", `${id}/health`)).toMatchObject({ code: "endpoint_not_found" });
  });
});

describe("templates", () => {
  test("creating needs containerDiskInGb, imageName, name and volumeInGb", async ({ expect }) => {
    const all = { containerDiskInGb: "5", imageName: '"any:1"', name: '"needs"', volumeInGb: "0" };
    for (const missing of Object.keys(all)) {
      const rest = Object.entries(all).filter(([field]) => field !== missing);
      const fields = rest.map(([field, value]) => `${field}: ${value}`).join(", ");
      expect(await errorOf(saveTemplate(fields))).toMatch(new RegExp(`^INVALID_INPUT ${missing}: `));
    }
  });

  test("Pod and Serverless templates are saved alike; a Serverless one has no volume", async ({ expect }) => {
    const fields = `containerDiskInGb: 10, imageName: "any:2", name: "a pod's", volumeInGb: 20, volumeMountPath: "/data",
      dockerArgs: "--serve", env: [{ key: "A", value: "1" }], ports: "8888/http,22/tcp", readme: "# Words"`;
    const selection = `containerDiskInGb dockerArgs env { key value } imageName isServerless name ports readme
      volumeInGb volumeMountPath`;
    expect((await ask(saveTemplate(fields, selection))).saveTemplate).toEqual({
      containerDiskInGb: 10,
      dockerArgs: "--serve",
      env: [{ key: "A", value: "1" }],
      imageName: "any:2",
      isServerless: false,
      name: "a pod's",
      ports: "8888/http,22/tcp",
      readme: "# Words",
      volumeInGb: 20,
      volumeMountPath: "/data",
    });
    const serverless = `containerDiskInGb: 5, imageName: "any:1", name: "with volume", volumeInGb: 1, isServerless: true`;
    expect(await errorOf(saveTemplate(serverless))).toMatch(/^INVALID_INPUT volumeInGb: .*\b0\b/);
  });

  test("an id modifies, and a taken name makes creation fail", async ({ expect }) => {
    const { id, name } = await freshTemplate();
    const changed = saveTemplate(`id: "${id}", imageName: "any:3"`, "id name imageName");
    expect((await ask(changed)).saveTemplate).toEqual({ id, name, imageName: "any:3" });
    const again = `containerDiskInGb: 5, imageName: "any:1", name: "${name}", volumeInGb: 0`;
    expect(await errorOf(saveTemplate(again))).toMatch(/^TEMPLATE_NAME_TAKEN /);
  });

  test("a private image is referenced through a registry credential that exists", async ({ expect }) => {
    const { saveRegistryAuth } = await ask(
      'mutation { saveRegistryAuth(input: { name: "r", username: "u", password: "p" }) { id } }',
    );
    const private_ = `containerDiskInGb: 5, imageName: "private/any:1", name: "private", volumeInGb: 0`;
    const selection = "containerRegistryAuthId";
    const fields = `${private_}, containerRegistryAuthId: "${saveRegistryAuth.id}"`;
    expect((await ask(saveTemplate(fields, selection))).saveTemplate.containerRegistryAuthId).toBe(
      saveRegistryAuth.id,
    );
    const unknown = `${private_}, containerRegistryAuthId: "nowhere"`;
    expect(await errorOf(saveTemplate(unknown))).toMatch(/containerRegistryAuthId: .*nowhere/);
  });

  test("deleteTemplate is by name, not while in use, and at once after the last use", async ({ expect }) => {
    const { id, template } = await freshEndpoint(", workersMax: 0");
    const remove = `mutation { deleteTemplate(templateName: "${template.name}") }`;
    expect(await errorOf(remove)).toMatch(/^TEMPLATE_IN_USE /);
    await ask(`mutation { deleteEndpoint(id: "${id}") }`);
    expect(await ask(remove)).toEqual({ deleteTemplate: null });
    expect(await errorOf(remove)).toMatch(/^TEMPLATE_NOT_FOUND /);
  });
});

describe("secrets", () => {
  test("secretCreate answers id, name and description, never the value; secretDelete answers null", async ({
    expect,
  }) => {
    const create =
      'mutation { secretCreate(input: { name: "rule", value: "v4lue" }) { id name description } }';
    const { secretCreate } = await ask(create);
    expect(secretCreate).toEqual({ id: expect.any(String), name: "rule", description: null });
    expect(
      await errorOf('mutation { secretCreate(input: { name: "other", value: "v" }) { value } }'),
    ).toMatch(/^GRAPHQL_VALIDATION_FAILED/);
    expect(await ask(`mutation { secretDelete(id: "${secretCreate.id}") }`)).toEqual({ secretDelete: null });
    expect(await errorOf(`mutation { secretDelete(id: "${secretCreate.id}") }`)).toMatch(
      /^SECRET_NOT_FOUND /,
    );
  });

  test("a worker gets the value that its template refers to", async ({ expect }) => {
    await ask('mutation { secretCreate(input: { name: "for_worker", value: "s3same" }) { id } }');
    const env = 'env: [{ key: "WORD", value: "open {{ SECRET_for_worker }}" }]';
    const { id } = await freshEndpoint(", workersMax: 1", `, dockerArgs: ${JSON.stringify(WORKER)}, ${env}`);
    const { output } = await queue("POST", `${id}/runsync?wait=60000`, { input: { mock_env: "WORD" } });
    expect(output).toBe("open s3same");
  });
});

describe("changes", () => {
  test("an update is seen by the next job", async ({ expect }) => {
    const env = (value: string) => `env: [{ key: "WORD", value: "${value}" }]`;
    const worker = `dockerArgs: ${JSON.stringify(WORKER)}`;
    const { id, template } = await freshEndpoint(", workersMax: 1", `, ${worker}, ${env("first")}`);
    const run = async () => await queue("POST", `${id}/runsync?wait=60000`, { input: { mock_env: "WORD" } });
    expect((await run()).output).toBe("first");

    await ask(saveTemplate(`id: "${template.id}", ${env("second")}`));
    expect((await run()).output).toBe("second");

    await ask(saveEndpoint(`id: "${id}", workersMax: 0`));
    const { id: waiting } = await queue("POST", `${id}/run`, { input: {} });
    expect(await queue("GET", `${id}/status/${waiting}`)).toMatchObject({ status: "IN_QUEUE" });
  });
});
