import { test } from "vitest";
import { GPU_TIER_NAMES } from "../../src/catalog/gpu-cards.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { restClient } from "./rest-client.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

test("a new endpoint needs a template alone; the rest has defaults", async ({ expect }) => {
  const rest = await restClient();
  const templateId = await rest.template();
  const { status, body } = await rest("POST", "/endpoints", { templateId });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    templateId,
    computeType: "GPU",
    gpuIds: GPU_TIER_NAMES.join(","),
    gpuCount: 1,
    workersMin: 0,
    workersMax: 3,
    idleTimeout: 5,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
    flashboot: false,
    dataCenterIds: [],
    networkVolumeIds: [],
    env: {},
  });
  expect(body.gpuTypeIds).toContain("NVIDIA GeForce RTX 4090");
  expect(body.gpuTypeIds).not.toContain("NVIDIA A10"); // which clients with a list of cards cannot read
  expect((await rest("GET", "/endpoints")).body).toEqual([body]);
});

test("what REST spells in its own way comes back as it was sent", async ({ expect }) => {
  const rest = await restClient();
  const settings = {
    name: "sdxl",
    gpuTypeIds: ["NVIDIA L40S", "NVIDIA GeForce RTX 4090"],
    gpuCount: 2,
    dataCenterIds: ["EU-RO-1", "US-KS-2"],
    workersMin: 1,
    workersMax: 7,
    idleTimeout: 30,
    scalerType: "REQUEST_COUNT",
    scalerValue: 2,
    executionTimeoutMs: 90_000,
    flashboot: true,
    allowedCudaVersions: ["12.8", "12.9"],
    minCudaVersion: "12.8",
    env: { MODEL: "a=b" },
  };
  const { body } = await rest("POST", "/endpoints", { templateId: await rest.template(), ...settings });
  expect(body).toMatchObject(settings);
  expect(body).toMatchObject({ gpuIds: "NVIDIA L40S,NVIDIA GeForce RTX 4090", locations: "EU-RO-1,US-KS-2" });
});

test("a CPU endpoint has families and a number of vCPUs, each with the memory that belongs to it", async ({
  expect,
}) => {
  const rest = await restClient();
  const templateId = await rest.template();
  const settings = { templateId, computeType: "CPU", cpuFlavorIds: ["cpu5c", "cpu3g"], vcpuCount: 4 };
  const { body } = await rest("POST", "/endpoints", settings);
  expect(body).toMatchObject({ ...settings, gpuTypeIds: [], instanceIds: ["cpu5c-4-8", "cpu3g-4-16"] });

  const changed = await rest("PATCH", `/endpoints/${body.id}`, { vcpuCount: 2 });
  expect(changed.body).toMatchObject({ computeType: "CPU", instanceIds: ["cpu5c-2-4", "cpu3g-2-8"] });

  const renamed = await rest("PATCH", `/endpoints/${body.id}`, { name: "cpu" });
  expect(renamed.body).toMatchObject({ name: "cpu", instanceIds: changed.body.instanceIds });

  const gpu = await rest("PATCH", `/endpoints/${body.id}`, { gpuTypeIds: ["NVIDIA L4"] });
  expect(gpu.body).toMatchObject({ computeType: "GPU", gpuTypeIds: ["NVIDIA L4"], cpuFlavorIds: [] });
});

test.for(["PATCH", "POST"])(
  "%s keeps what it omits, and zero stands for omitted where it means nothing",
  async (method, { expect }) => {
    const rest = await restClient();
    const { body: made } = await rest("POST", "/endpoints", {
      templateId: await rest.template(),
      gpuTypeIds: ["NVIDIA L4"],
      idleTimeout: 42,
      scalerValue: 9,
      flashboot: true,
      env: { A: "1" },
    });
    const path = method === "PATCH" ? `/endpoints/${made.id}` : `/endpoints/${made.id}/update`;
    const change = { workersMax: 0, idleTimeout: 0, scalerValue: 0, gpuCount: 0, name: "", templateId: "" };
    const { status, body } = await rest(method, path, change);
    expect(status).toBe(200);
    expect(body).toEqual({ ...made, workersMax: 0, version: body.version });
    expect((await rest("GET", `/endpoints/${made.id}`)).body).toEqual(body);
  },
);

test("null clears what can be without a value, and false switches off", async ({ expect }) => {
  const rest = await restClient();
  const { body } = await rest("POST", "/endpoints", {
    templateId: await rest.template(),
    dataCenterIds: ["EU-RO-1"],
    minCudaVersion: "12.8",
    allowedCudaVersions: ["12.8"],
    flashboot: true,
  });
  const cleared = { dataCenterIds: null, minCudaVersion: null, allowedCudaVersions: null, flashboot: false };
  expect((await rest("PATCH", `/endpoints/${body.id}`, cleared)).body).toMatchObject({
    dataCenterIds: [],
    allowedCudaVersions: [],
    flashboot: false,
  });
  expect((await rest("GET", `/endpoints/${body.id}`)).body).not.toHaveProperty("minCudaVersion");
});

test("a country that GraphQL has set is shown as its data centers", async ({ expect }) => {
  await signInAsNewAccount();
  const endpointId = await createEndpoint('locations: "CZ,EU-RO-1"');
  expect((await call("GET", `/v1/endpoints/${endpointId}`)).body).toMatchObject({
    locations: "CZ,EU-RO-1",
    dataCenterIds: ["EU-CZ-1", "EU-RO-1"],
  });
});

test.for([
  [{ gpuTypeIds: ["RTX 9090"] }, /^gpuTypeIds\[0\]: must be one of /],
  [{ gpuTypeIds: "NVIDIA L4" }, /^gpuTypeIds: must be a list/],
  [{ dataCenterIds: ["MOON"] }, /^dataCenterIds: 'MOON' is not allowed/],
  [{ allowedCudaVersions: ["1"] }, /^allowedCudaVersions: '1' is not allowed/],
  [{ idleTimeout: 3_601 }, /^idleTimeout: must be between 1 and 3600/],
  [{ modelReferences: ["https://huggingface.co/acme/model:main"] }, /^modelReferences: no model can be/],
  [{ workersMin: 4 }, /^workersMin: 4 .*which is 3/],
  [{ flashboot: "yes" }, /^flashboot: must be true or false/],
  [{ env: { "A=B": "1" } }, /^env.*: a name must not be empty or contain =/],
  [{ executionTimeoutMs: 1 }, /^executionTimeoutMs: must be 0 or between 5000/],
  [{ env: [] }, /^env: must be an object of strings/],
  [{ env: { A: 1 } }, /^env.A: must be a string/],
  [[], /^body: must be a JSON object/],
  ["{", /not valid JSON/],
] as const)(
  "%j is refused under the name that REST has for the field",
  async ([fields, message], { expect }) => {
    const rest = await restClient();
    const { body: made } = await rest("POST", "/endpoints", { templateId: await rest.template() });
    const { status, body } = await rest("PATCH", `/endpoints/${made.id}`, fields);
    expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringMatching(message) });
    expect(body).toMatchObject({ message: body.error, status: 400, code: "invalid_input" });
  },
);

test("an endpoint without a template, or with one that is not there, is refused", async ({ expect }) => {
  const rest = await restClient();
  expect((await rest("POST", "/endpoints", {})).body.error).toMatch(/^templateId: /);
  const unknown = await rest("POST", "/endpoints", { templateId: "nobody" });
  expect(unknown).toMatchObject({ status: 404, body: { code: "template_not_found" } });
});

test("template and workers are included on request", async ({ expect }) => {
  await signInAsNewAccount();
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const plain = await call("GET", `/v1/endpoints/${endpointId}`);
  expect(plain.body).not.toHaveProperty("workers");
  expect(plain.body).not.toHaveProperty("template");
  const full = await call("GET", `/v1/endpoints?includeTemplate=true&includeWorkers=true`);
  expect(full.body).toMatchObject([
    {
      id: endpointId,
      template: { id: plain.body["templateId"], imageName: "test:1" },
      workers: [
        {
          id: workerId,
          endpointId,
          image: "test:1",
          machineId: agent.hostId,
          desiredStatus: "RUNNING",
          costPerHr: expect.any(Number),
          gpu: { count: 1 },
        },
      ],
    },
  ]);
  const shown = JSON.stringify(full.body).replace('"publicIp":null', ""); // the one that may be null
  expect(shown).not.toContain("null"); // typed readers take none
});

test("a deletion needs no limits at 0: workers leave and jobs are removed", async ({ expect }) => {
  await signInAsNewAccount();
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 2");
  const agent = await ScriptedAgent.join(api);
  await agent.bringUpWorker(endpointId);
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });

  const deleted = await call("DELETE", `/v1/endpoints/${endpointId}`);
  expect({ status: deleted.status, body: deleted.body }).toEqual({ status: 204, body: null });
  expect((await call("GET", `/v1/endpoints/${endpointId}`)).status).toBe(404);
  expect((await call("DELETE", `/v1/endpoints/${endpointId}`)).status).toBe(404);
  const { assignments } = await agent.sync();
  expect(assignments).toEqual([]);
});
