/** REST v2 as its clients speak it: every answer has the shape of our document, and of the service's. */
import { describe, expect, test } from "vitest";
import { restV2Apis } from "../../src/gateway/rest-v2/routes.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { freshAccount } from "./accounts.ts";
import { checkedOperations, DOCUMENT, documentedCallOf } from "./documented-call.ts";
import { EdgeClient } from "./edge-client.ts";
import { checkHosted, HOSTED_OPERATIONS } from "./hosted-answers.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

type Answer = { readonly status: number; readonly body: Json };

/** A client of a fresh account. */
async function v2Client() {
  const client = new EdgeClient((await freshAccount()).key);
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await documentedCallOf(client, method, `/v2${path}`, body);
    if (answer.status < 300) checkHosted(method, `/v2${path}`, answer.status, answer.body);
    return answer;
  };
  const create = async (fields: object = {}): Promise<Json> => {
    const base = { name: "sdxl", image: "acme/worker:1", type: "QUEUE", gpu: { pools: ["ADA_24"] } };
    const scaling = { type: "QUEUE_DELAY", queueDelay: 4 };
    const { status, body } = await call("POST", "/serverless", { ...base, scaling, ...fields });
    expect({ status, body }).toMatchObject({ status: 201 });
    return body;
  };
  return { client, call, create };
}

test("every operation of the service is one of ours", () => {
  const own = restV2Apis.flatMap(({ operations }) => operations.map(({ on }) => on.replace(" /", " /v2/")));
  const nameless = (operation: string) => operation.replaceAll(/\{\w+\}/g, "{}");
  expect(own.map(nameless)).toEqual(expect.arrayContaining(HOSTED_OPERATIONS.map(nameless)));
});

test("no list of the document is described as a text with commas", () => {
  const described: string[] = [];
  JSON.stringify(DOCUMENT, (_key, value: Json) => {
    if (value?.type === "array" && typeof value.description === "string") described.push(value.description);
    return value;
  });
  expect(described.length).toBeGreaterThan(0);
  expect(described.filter((description) => /comma/i.test(description))).toEqual([]);
});

test("an endpoint is created, read, listed, changed and deleted", async () => {
  const { call, create } = await v2Client();
  const created = await create({
    gpu: {
      pools: ["AMPERE_16", "ADA_24"],
      excludedTypes: ["NVIDIA RTX A4000"],
      count: 2,
      minCudaVersion: "12.4",
    },
    env: { A: "1" },
    ports: ["8000/http"],
    disk: 20,
    args: "python -u handler.py",
    dataCenterIds: ["EU-RO-1", "US-KS-2"],
    timeout: 60_000,
    flashboot: "FLASHBOOT",
    workers: { min: 0, max: 5, idleTimeout: 30 },
  });
  expect(created).toMatchObject({
    name: "sdxl",
    type: "QUEUE",
    image: "acme/worker:1",
    args: "python -u handler.py",
    env: { A: "1" },
    ports: ["8000/http"],
    disk: 20,
    registry: null,
    gpu: {
      pools: ["AMPERE_16", "ADA_24"],
      excludedTypes: ["NVIDIA RTX A4000"],
      count: 2,
      allowedCudaVersions: [],
      minCudaVersion: "12.4",
    },
    workers: { min: 0, max: 5, idleTimeout: 30 },
    scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    dataCenterIds: ["EU-RO-1", "US-KS-2"],
    networkVolumes: [],
    timeout: 60_000,
    flashboot: "FLASHBOOT",
    requestUrls: { run: `http://edge/v2/${created.id}/run` },
  });
  const path = `/serverless/${created.id}`;
  expect((await call("GET", path)).body).toEqual(created);
  expect((await call("GET", "/serverless")).body.endpoints).toEqual([created]);

  const { body: changed } = await call("PATCH", path, { image: "acme/worker:2", workers: { max: 2 } });
  expect(changed).toEqual({ ...created, image: "acme/worker:2", workers: { ...created.workers, max: 2 } });
  const { body: replaced } = await call("PATCH", path, { env: { B: "2" }, gpu: { minCudaVersion: "" } });
  expect(replaced).toMatchObject({ env: { B: "2" }, gpu: { ...created.gpu, minCudaVersion: null } });

  expect(await call("DELETE", path)).toMatchObject({ status: 204, body: null });
  expect(await call("GET", path)).toMatchObject({
    status: 404,
    body: { code: "endpoint_not_found", status: 404 },
  });
});

test("what a new endpoint omits has the documented defaults", async () => {
  const { create } = await v2Client();
  expect(await create()).toMatchObject({
    workers: { min: 0, max: 3, idleTimeout: 10 },
    timeout: 300_000,
    flashboot: "OFF",
    dataCenterIds: [],
    env: {},
    args: "",
  });
});

test("a CPU endpoint has sizes and no GPUs, and stays one", async () => {
  const { call, create } = await v2Client();
  const created = await create({ gpu: undefined, cpu: [{ id: "cpu5c", vcpuCount: 4 }] });
  expect(created).toMatchObject({ cpu: [{ id: "cpu5c", vcpuCount: 4, memory: 8 }] });
  expect(created).not.toHaveProperty("gpu");
  const path = `/serverless/${created.id}`;
  expect((await call("PATCH", path, { cpu: [{ id: "cpu3g", vcpuCount: 2 }] })).body.cpu).toEqual([
    { id: "cpu3g", vcpuCount: 2, memory: 8 },
  ]);
  expect(await call("PATCH", path, { gpu: { pools: ["ADA_24"] } })).toMatchObject({ status: 400 });
});

test("what the service documents is taken: fractions of a delay, blanks around cards, newer CUDA", async () => {
  const { create } = await v2Client();
  const delayOf = async (queueDelay: number) =>
    (await create({ scaling: { type: "QUEUE_DELAY", queueDelay } })).scaling.queueDelay;
  expect([await delayOf(0.5), await delayOf(2.5), await delayOf(3)]).toEqual([1, 3, 3]);
  const gpu = { pools: ["AMPERE_24"], excludedTypes: [" NVIDIA L4"], allowedCudaVersions: ["12.10", "13.1"] };
  expect((await create({ gpu })).gpu).toMatchObject({ ...gpu, excludedTypes: ["NVIDIA L4"] });
  expect((await create({ gpu: { minCudaVersion: "13.2" } })).gpu).toMatchObject({ minCudaVersion: "13.2" });
});

test("what the other APIs make smaller than REST v2 does is shown as it is", async () => {
  const { client, call, create } = await v2Client();
  const other = async (...sent: Parameters<typeof client.call>): Promise<Answer> =>
    await client.call(...sent);
  const { id } = await create({ gpu: undefined, cpu: [{ id: "cpu5c", vcpuCount: 2 }] });
  const { body: volume } = await other("POST", "/v1/networkvolumes", {
    ...{ name: "v", size: 3, dataCenterId: "EU-RO-1" },
  });
  expect((await other("PATCH", `/v1/endpoints/${id}`, { vcpuCount: 1 })).status).toBe(200);
  const template = { name: `t-${crypto.randomUUID()}`, imageName: "w:1", volumeInGb: 5 };
  const { body: saved } = await other("POST", "/v1/templates", template);
  const { body: shown } = await other("GET", `/v2/templates/${saved.id}`);
  expect(shown.mounts).toMatchObject({ persistent: { size: 5 } });
  const smaller = { mounts: { persistent: { size: 9 } } };
  expect(await call("PATCH", `/templates/${saved.id}`, smaller)).toMatchObject({ status: 422 });
  const { body: endpoint } = await other("GET", `/v2/serverless/${id}`);
  expect(endpoint.cpu).toEqual([{ id: "cpu5c", vcpuCount: 1, memory: 2 }]);
  expect((await other("GET", `/v2/network-volumes/${volume.id}`)).body.size).toBe(3);
  expect(await call("PATCH", `/network-volumes/${volume.id}`, { size: 9 })).toMatchObject({ status: 422 });
  expect((await call("PATCH", `/network-volumes/${volume.id}`, { size: 4_096 })).body.size).toBe(4_096);
});

test("a load-balanced endpoint says where its workers are reached", async () => {
  const { create } = await v2Client();
  const scaling = { type: "REQUEST_COUNT", requestCount: 8 };
  const created = await create({ type: "LOAD_BALANCER", scaling, env: { HEALTH_CHECK_PATH: "/healthz" } });
  const base = `http://edge/lb/${created.id}`;
  expect(created).toMatchObject({ scaling, requestUrls: { base, health: `${base}/healthz` } });
});

test("settings of a template are copied: later changes of it do not reach the endpoint", async () => {
  const { client, call, create } = await v2Client();
  const settings = { name: "t", image: "acme/base:1", serverless: true, env: { A: "1", B: "1" }, disk: 30 };
  const { body: template } = await call("POST", "/templates", settings);
  const created = await create({ image: undefined, templateId: template.id, env: { B: "2" } });
  expect(created).toMatchObject({ image: "acme/base:1", disk: 30, env: { A: "1", B: "2" } });

  await call("PATCH", `/templates/${template.id}`, { image: "acme/base:2" });
  const path = `/serverless/${created.id}`;
  expect((await call("GET", path)).body.image).toBe("acme/base:1");
  expect((await call("PATCH", path, { templateId: template.id })).body).toMatchObject({
    image: "acme/base:2",
    env: { A: "1", B: "1" },
  });
  const { saveEndpoint } = await client.graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { id: "${created.id}", env: [{ key: "A", value: "own" }] }) { id } }`,
  );
  expect(
    (await call("PATCH", `/serverless/${saveEndpoint.id}`, { templateId: template.id })).body.env,
  ).toEqual(settings.env);
  expect((await call("DELETE", `/templates/${template.id}`)).status).toBe(204);
});

test("an endpoint that shares a template gets a separate one with its first change", async () => {
  const { client, call } = await v2Client();
  const { body: template } = await call("POST", "/templates", {
    name: "shared",
    image: "acme/s:1",
    serverless: true,
  });
  const saved = await client.graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "old", gpuIds: "ADA_24", templateId: "${template.id}" }) { id } }`,
  );
  const path = `/serverless/${saved.saveEndpoint.id}`;
  expect((await call("PATCH", path, { env: { A: "1" } })).body).toMatchObject({
    image: "acme/s:1",
    env: { A: "1" },
  });
  expect((await call("GET", `/templates/${template.id}`)).body).toMatchObject({ env: {} });
});

test.for([
  ["NVIDIA GeForce RTX 3090", ["AMPERE_24"], ["NVIDIA RTX A5000", "NVIDIA L4", "NVIDIA A10", "NVIDIA A30"]],
  ["ADA_24,-NVIDIA L4", ["ADA_24"], undefined],
  ["ADA_48_PRO, ADA_24,-NVIDIA L40", ["ADA_48_PRO", "ADA_24"], ["NVIDIA L40"]],
] as const)("cards selected as %s elsewhere are shown as pools that a change takes", async (selection) => {
  const [gpuIds, pools, excludedTypes] = selection;
  const { client, call } = await v2Client();
  const template = 'template: { imageName: "acme/s:1" }';
  const { saveEndpoint } = await client.graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "old", gpuIds: "${gpuIds}", ${template} }) { id } }`,
  );
  const path = `/serverless/${saveEndpoint.id}`;
  const { gpu } = (await call("GET", path)).body;
  expect([gpu.pools, gpu.excludedTypes]).toEqual([pools, excludedTypes]);
  const sent = { pools: gpu.pools, excludedTypes: gpu.excludedTypes };
  expect(await call("PATCH", path, { gpu: sent })).toMatchObject({ status: 200, body: { gpu: { ...gpu } } });
});

const CPU = { id: "cpu5c", vcpuCount: 2 };

test.for([
  [{ type: undefined }, 422, "type: "],
  [{ scaling: undefined }, 422, "scaling: "],
  [{ image: undefined }, 422, "image: "],
  [{ gpu: { pools: ["RTX"] } }, 422, "gpu.pools[0]: "],
  [{ workers: { max: -1 } }, 422, "workers.max: "],
  [{ workers: { most: 1 } }, 422, "workers: "],
  [{ colour: "red" }, 422, "body: "],
  [{ env: { "A=B": "1" } }, 422, "env"],
  [{ env: JSON.parse('{"__proto__": "1"}') as object }, 422, "env: "],
  [{ timeout: 1 }, 422, "timeout: "],
  [{ gpu: { minCudaVersion: "12" } }, 422, "gpu.minCudaVersion: "],
  [{ gpu: { allowedCudaVersions: ["12.8,13.0"] } }, 422, "gpu.allowedCudaVersions[0]: "],
  [{ scaling: { type: "QUEUE_DELAY", queueDelay: 0.4 } }, 422, "scaling.queueDelay: "],
  [{ gpu: undefined, cpu: [{ id: "cpu5c", vcpuCount: 1 }] }, 422, "cpu[0].vcpuCount: "],
  [{ ports: ["80/http,22/tcp"] }, 422, "ports[0]: "],
  [{ dataCenterIds: ["US-TX-3,EU-RO-1"] }, 422, "dataCenterIds[0]: "],
  [{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA L4", " NVIDIA L4"] } }, 422, "gpu.excludedTypes: "],
  [{ dataCenterIds: ["MOON-1"] }, 422, "dataCenterIds: "],
  [{ gpu: { excludedTypes: ["NVIDIA Nope"] } }, 400, "gpu.excludedTypes: "],
  [{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA L40S"] } }, 400, "gpu.excludedTypes: "],
  [{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA GeForce RTX 4090"] } }, 400, "gpu.excludedTypes: "],
  [{ gpu: undefined, cpu: [CPU, CPU] }, 422, "cpu: "],
  [{ gpu: undefined }, 400, "gpu: "],
  [{ cpu: [{ id: "cpu5c", vcpuCount: 2 }] }, 400, "cpu: "],
  [{ workers: { min: 4, max: 2 } }, 400, "workers.min: "],
  [{ type: "LOAD_BALANCER" }, 400, "scaling.type: "],
  [{ gpu: { minCudaVersion: "12.4", allowedCudaVersions: ["12.8"] } }, 400, "gpu.minCudaVersion: "],
  [{ networkVolumes: ["nobody"] }, 404, "networkVolumes: "],
  [{ templateId: "nobody" }, 404, "templateId: "],
] as const)("%j is refused with %i, by the name of the field", async ([fields, status, place]) => {
  const { call } = await v2Client();
  const base = { name: "x", image: "a:1", type: "QUEUE", gpu: { pools: ["ADA_24"] } };
  const answer = await call("POST", "/serverless", {
    ...base,
    scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    ...fields,
  });
  expect(answer).toMatchObject({ status, body: { status } });
  const { errors = [answer.body.detail] } = answer.body;
  const places = errors.map((text: string) => text.slice(0, place.length));
  expect(places).toContain(place);
  expect((await call("GET", "/serverless")).body.endpoints).toEqual([]);
});

test("workers are listed by what they do, and releases by what they changed", async () => {
  const { client, call, create } = await v2Client();
  const { id } = await create({ workers: { min: 1, max: 1 }, env: { TOKEN: "first" } });
  const agent = await ScriptedAgent.join(client);
  const workerId = await agent.bringUpWorker(id);
  await client.call("POST", `/v2/${id}/run`, { input: 1 });
  const workersOf = async () => (await call("GET", `/serverless/${id}/workers`)).body;
  expect(await workersOf()).toMatchObject({
    summary: { idle: 1, total: 1 },
    workers: [{ id: workerId, status: "IDLE" }],
  });
  await agent.take(id, workerId);
  expect(await workersOf()).toMatchObject({ workers: [{ status: "RUNNING", version: 1, isStale: false }] });

  await call("PATCH", `/serverless/${id}`, { image: "acme/worker:2", env: { TOKEN: "second" } });
  await call("PATCH", `/serverless/${id}`, { workers: { max: 3 } });
  expect((await workersOf()).workers[0]).toMatchObject({ isStale: true, version: 1 });
  const { body } = await call("GET", `/serverless/${id}/releases`);
  expect(body).toMatchObject({ endpointVersion: 2, rollout: { inProgress: true } });
  expect(body.releases.map(({ version }: Json) => version)).toEqual([2, 1]);
  expect(body.releases[0]).toMatchObject({ buildId: null, createdBy: expect.any(String) });
  expect(body.releases[0].diff).toEqual([
    { field: "template.imageName", old: "acme/worker:1", new: "acme/worker:2" },
    { field: "template.env.TOKEN", old: "***", new: "***" },
  ]);
  expect(JSON.stringify(body)).not.toContain("second");

  await call("PATCH", `/serverless/${id}`, {
    args: "x".repeat(100_000),
    env: { ["N".repeat(100_000)]: "v" },
  });
  const { body: large } = await call("GET", `/serverless/${id}/releases`);
  expect(JSON.stringify(large.releases[0]).length).toBeLessThan(1_000);

  const { body: earlier } = await call("POST", `/serverless/${id}/rollback`, { version: 1 });
  expect(earlier).toMatchObject({ image: "acme/worker:1", env: { TOKEN: "first" }, workers: { max: 3 } });
  const { body: last } = await call("GET", `/serverless/${id}/releases`);
  expect(last.releases[0]).toMatchObject({ version: 4, reason: "rollback to v1" });
});

test("templates, network volumes, registries and keys live as their clients expect", async () => {
  const { call } = await v2Client();
  const { body: template } = await call("POST", "/templates", {
    name: "pod",
    image: "acme/pod:1",
    mounts: { persistent: { size: 20, path: "/data" } },
  });
  expect(template).toMatchObject({
    mounts: { persistent: { size: 20, path: "/data" } },
    category: "NVIDIA",
    startSsh: true,
    startJupyter: true,
    serverless: false,
    allowedCudaVersions: [],
  });
  const { body: changed } = await call("PATCH", `/templates/${template.id}`, {
    allowedCudaVersions: ["12.8"],
    startSsh: false,
  });
  expect(changed).toMatchObject({ allowedCudaVersions: ["12.8"], startSsh: false, mounts: template.mounts });

  const { body: volume } = await call("POST", "/network-volumes", {
    name: "v",
    size: 20,
    dataCenter: "EU-RO-1",
  });
  expect(volume).toMatchObject({ type: "STANDARD", dataCenter: "EU-RO-1" });
  expect((await call("PATCH", `/network-volumes/${volume.id}`, { size: 30 })).body).toMatchObject({
    size: 30,
  });
  expect(await call("PATCH", `/network-volumes/${volume.id}`, { size: 10 })).toMatchObject({ status: 400 });
  expect(await call("PATCH", `/network-volumes/${volume.id}`, {})).toMatchObject({ status: 422 });

  expect((await call("GET", "/network-volumes")).body.networkVolumes).toEqual([{ ...volume, size: 30 }]);
  expect((await call("GET", "/templates")).body.templates).toEqual([changed]);
  const { body: registry } = await call("POST", "/registries", { name: "r", username: "u", password: "p" });
  expect((await call("GET", `/registries/${registry.id}`)).body).toEqual({ id: registry.id, name: "r" });

  const keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me", "ssh-rsa AAAAB3NzaC1yc2E= you"];
  expect((await call("PUT", "/account/ssh-keys", { keys })).body).toEqual({ keys });
  expect((await call("GET", "/account/ssh-keys")).body).toEqual({ keys });
  expect(await call("PUT", "/account/ssh-keys", { keys: ["not a key"] })).toMatchObject({ status: 422 });
  expect((await call("PUT", "/account/ssh-keys", { keys: [] })).body).toEqual({ keys: [] });

  for (const path of [
    `/templates/${template.id}`,
    `/network-volumes/${volume.id}`,
    `/registries/${registry.id}`,
  ]) {
    expect((await call("GET", path)).status).toBe(200);
    expect((await call("DELETE", path)).status).toBe(204);
    expect((await call("GET", path)).status).toBe(404);
  }
});

test("errors name the fields of REST v2", async () => {
  const { client, call, create } = await v2Client();
  const template = await call("DELETE", "/templates/nobody");
  expect(template).toMatchObject({ status: 404, body: { detail: expect.stringMatching(/^id: /) } });
  const keys = Array.from({ length: 400 }, (_, index) => `ssh-ed25519 AAAA${index}${"x".repeat(1_000)} me`);
  const refused = await call("PUT", "/account/ssh-keys", { keys });
  expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^keys: /) } });
  const registry = await call("GET", "/registries/nobody");
  expect(registry).toMatchObject({ status: 404, body: { detail: expect.not.stringContaining("{") } });
  const workers = await call("PATCH", `/serverless/${(await create()).id}`, { workers: { min: 4 } });
  expect(workers).toMatchObject({ status: 400, body: { detail: expect.not.stringContaining("workersM") } });
  const logs = await client.call("GET", `/v2/serverless/${(await create()).id}/workers/w/logs?colour=red`);
  expect(logs).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^query: /) } });
});

test("lists are read page by page", async () => {
  const { call } = await v2Client();
  for (const name of ["a", "b", "c"])
    await call("POST", "/registries", { name, username: "u", password: "p" });
  const { body: first } = await call("GET", "/registries?limit=2");
  expect(first).toMatchObject({
    registries: [{ name: "a" }, { name: "b" }],
    pagination: { hasNextPage: true },
  });
  const { body: second } = await call("GET", `/registries?limit=2&cursor=${first.pagination.nextCursor}`);
  expect(second).toMatchObject({
    registries: [{ name: "c" }],
    pagination: { hasNextPage: false, nextCursor: null },
  });
  await call("DELETE", `/registries/${first.registries[1].id}`);
  const { body: after } = await call("GET", `/registries?cursor=${first.pagination.nextCursor}`);
  expect(after.registries).toEqual(second.registries);
  expect(await call("GET", "/registries?cursor=nobody")).toMatchObject({ status: 400 });
  expect(await call("GET", "/registries?limit=0")).toMatchObject({ status: 422 });
});

test("the catalog answers with and without availability", async () => {
  const { call } = await v2Client();
  const card = encodeURIComponent("NVIDIA GeForce RTX 4090");
  expect((await call("GET", "/catalog/gpus")).body.gpus.length).toBeGreaterThan(20);
  expect((await call("GET", `/catalog/gpus/${card}`)).body).toMatchObject({ pool: "ADA_24", memory: 24 });
  const asked = `include=AVAILABILITY&product=POD&count=1&cloud=SECURE`;
  expect((await call("GET", `/catalog/gpus/${card}?${asked}`)).body).toHaveProperty("availability");
  expect((await call("GET", `/catalog/gpus?${asked}&countryCodes=FR&minCudaVersion=12`)).body.gpus).toEqual(
    [],
  );
  expect(
    (await call("GET", "/catalog/cpus?include=AVAILABILITY&product=SERVERLESS&vcpuCount=4")).status,
  ).toBe(200);
  expect((await call("GET", "/catalog/cpus/cpu5c")).body).toMatchObject({ ramGbPerVcpu: 2 });
  expect(
    (await call("GET", "/catalog/datacenters?regions=EUROPE,ASIA&include=GPU_AVAILABILITY")).status,
  ).toBe(200);
  expect((await call("GET", "/catalog/datacenters/EU-RO-1?include=CPU_AVAILABILITY")).body).toMatchObject({
    region: "EUROPE",
  });
  expect((await call("GET", "/catalog/templates?source=community")).body).toEqual({ templates: [] });
});

test.for([
  ["/catalog/gpus?include=AVAILABILITY", 400],
  ["/catalog/gpus?product=POD", 400],
  ["/catalog/gpus?include=AVAILABILITY&product=POD&cudaVersions=12.8&minCudaVersion=12", 400],
  ["/catalog/gpus?include=STOCK", 422],
  ["/catalog/gpus?colour=red", 422],
  ["/catalog/gpus/nobody", 404],
  ["/catalog/cpus/nobody", 404],
  ["/catalog/datacenters/nobody", 404],
  ["/billing?lastN=3&startTime=2026-05-01T00:00:00Z", 400],
  ["/billing?startTime=yesterday", 422],
  ["/billing/serverless?bucketSize=minute", 422],
] as const)("GET %s is refused with %i", async ([path, status]) => {
  expect(await (await v2Client()).call("GET", path)).toMatchObject({ status, body: { status } });
});

test("bills have the documented totals, whether or not anything was used", async () => {
  const { call } = await v2Client();
  for (const noun of ["", "/serverless", "/pods", "/endpoints", "/network-volumes", "/clusters"]) {
    const { body } = await call("GET", `/billing${noun}?lastN=3&bucketSize=month`);
    expect(body).toMatchObject({ records: [], metadata: { recordCount: 0, totals: { totalAmount: 0 } } });
    expect(
      (await call("GET", `/billing${noun}?startTime=2026-05-01T00:00:00Z&endTime=2026-06-01T00:00:00Z`))
        .status,
    ).toBe(200);
  }
});

test("what is not offered is 501, and lists of it are empty", async () => {
  const { call, create } = await v2Client();
  const absent = [
    ["POST", "/registries/delegations"],
    ["DELETE", "/registries/delegations/x"],
    ["GET", "/serverless/x/builds/y"],
    ["POST", "/global-volumes"],
  ] as const;
  for (const [method, path] of absent) {
    const body = method === "POST" ? { name: "x" } : undefined;
    expect(await call(method, path, body)).toMatchObject({ status: 501, body: { code: "not_implemented" } });
  }
  const volume = { name: "fast", size: 20, dataCenter: "EU-RO-1", type: "HIGH_PERFORMANCE" };
  expect(await call("POST", "/network-volumes", volume)).toMatchObject({ status: 501 });
  const builds = `/serverless/${(await create()).id}/builds`;
  for (const path of ["/registries/delegations", builds, "/global-volumes"]) {
    expect((await call("GET", path)).status).toBe(200);
  }
  expect((await call("GET", "/serverless/x/builds")).status).toBe(404);
});

describe("pods", () => {
  const GPU = { id: POD_CARD, count: 1 };

  test("one is created, read, listed, changed, acted on and terminated", async () => {
    const { client, call } = await v2Client();
    const host = await PodAgent.join(client);
    const { status, body: made } = await call("POST", "/pods", {
      ...{ name: "train", image: "acme/app:1", disk: 20, args: "serve --port 80", env: { A: "1" } },
      ...{ ports: ["22/tcp", "8888/http"], cloud: "SECURE", dataCenterIds: [], startSsh: true },
      gpu: { ...GPU, minVcpuCountPerGpu: 1, minRamPerGpu: 1 },
      mounts: { persistent: { size: 10, path: "/workspace" } },
    });
    expect({ status, made }).toMatchObject({
      status: 201,
      made: { status: "STARTING", runtime: null, gpu: { ...GPU, vcpuCount: 4, memory: 16 } },
    });
    await host.follow();
    const { id } = made;
    expect((await call("GET", `/pods/${id}`)).body).toMatchObject({
      ...{ name: "train", image: "acme/app:1", args: "serve --port 80", env: { A: "1" }, status: "RUNNING" },
      ...{ actions: ["stop", "restart", "terminate"], template: null, dataCenterId: "US-KS-2" },
      mounts: { persistent: { size: 10, path: "/workspace" } },
      ssh: {
        proxy: { host: `${id}.edgerun`, port: 22, username: "root" },
        direct: { host: "203.0.113.7", port: 20_000, username: "root" },
      },
      runtime: {
        ports: [
          { private: 22, public: 20_000, type: "tcp", ip: "203.0.113.7" },
          { private: 8888, public: null, type: "http", ip: null },
        ],
      },
    });
    expect((await call("GET", "/pods?limit=1")).body).toMatchObject({
      ...{ pods: [{ id }], pagination: { hasNextPage: false } },
    });
    const changed = await call("PATCH", `/pods/${id}`, {
      image: "acme/app:2",
      name: "renamed",
      locked: true,
    });
    expect(changed.body).toMatchObject({ image: "acme/app:2", name: "renamed", locked: true });

    const act = async (action: string) => await call("POST", `/pods/${id}/action`, { action });
    expect(await act("stop")).toMatchObject({ status: 409, body: { code: "pod_state" } });
    await call("PATCH", `/pods/${id}`, { locked: false });
    expect(await act("start")).toMatchObject({ status: 409 });
    expect(await act("restart")).toMatchObject({ status: 200, body: { id } });
    expect(await act("stop")).toMatchObject({
      status: 200,
      body: { status: "EXITED", actions: ["start", "terminate"], cost: 0 },
    });
    expect(await act("start")).toMatchObject({ status: 200 });
    expect(await act("dance")).toMatchObject({ status: 422 });
    expect(await act("terminate")).toMatchObject({ status: 204 });
    expect((await call("GET", `/pods/${id}`)).status).toBe(404);
    expect((await call("DELETE", `/pods/${id}`)).status).toBe(404);
    expect((await call("POST", `/pods/${id}/action`, { action: "stop" })).status).toBe(404);
  });

  test("a pod of the smallest size that the catalog has", async () => {
    const { client, call } = await v2Client();
    const host = await PodAgent.join(client);
    const { body: flavor } = await call("GET", "/catalog/cpus/cpu3c");
    const pod = { name: "small", image: "a:1", cpu: { id: "cpu3c", vcpuCount: flavor.vcpu.min } };
    const made = await client.call("POST", "/v2/pods", pod); // the hosted service has none of this size
    expect(made).toMatchObject({ status: 201, body: { cpu: { id: "cpu3c", vcpuCount: 1, memory: 2 } } });
    await host.follow();
    expect((await call("DELETE", `/pods/${String(made.body["id"])}`)).status).toBe(204);
  });

  test("a pod without GPUs, started as another entry point and command, with the settings of a template", async () => {
    const { client, call } = await v2Client();
    const host = await PodAgent.join(client);
    const { body: template } = await call("POST", "/templates", {
      ...{
        name: `t-${crypto.randomUUID()}`,
        image: "acme/base:1",
        env: { A: "1", B: "1" },
        serverless: false,
        mounts: { persistent: { size: 20, path: "/workspace" } },
      },
    });
    const { body } = await call("POST", "/pods", {
      ...{ name: "cpu", templateId: template.id, cpu: { id: "cpu3c", vcpuCount: 2 }, env: { B: "2" } },
      ...{ entrypoint: ["/bin/sh"], cmd: ["-c", "echo 'a b'"], interruptible: false },
    });
    expect(body).toMatchObject({
      ...{ image: "acme/base:1", env: { A: "1", B: "2" }, cpu: { id: "cpu3c", vcpuCount: 2, memory: 4 } },
      args: JSON.stringify({ entrypoint: ["/bin/sh"], cmd: ["-c", "echo 'a b'"] }),
    });
    expect([body.gpu, body.mounts]).toEqual([undefined, {}]);
    await host.follow();
    expect((await call("DELETE", `/pods/${body.id}`)).status).toBe(204);
    const fromTemplate = await call("POST", "/pods", { name: "x", templateId: template.id, gpu: GPU });
    const again = await call("PATCH", `/pods/${fromTemplate.body.id}`, {
      templateId: template.id,
      env: { C: "3" },
    });
    const { JUPYTER_PASSWORD } = fromTemplate.body.env;
    expect(JUPYTER_PASSWORD).toEqual(expect.any(String));
    expect(again.body.env).toEqual({ A: "1", B: "1", C: "3", JUPYTER_PASSWORD });
    expect(again.body.mounts).toMatchObject({ persistent: { size: 20 } });
  });

  test("the network volume of a pod stays; the path at which it is found may change", async () => {
    const { client, call } = await v2Client();
    await PodAgent.join(client);
    const volume = { name: "data", size: 10, dataCenter: "US-KS-2" };
    const { id: volumeId } = (await call("POST", "/network-volumes", volume)).body;
    const network = [{ volumeId, path: "/data" }];
    const pod = { name: "x", image: "a:1", gpu: GPU, mounts: { network } };
    const { id } = (await call("POST", "/pods", pod)).body;
    const change = async (mounts: object) => await call("PATCH", `/pods/${id}`, { mounts });
    for (const other of [[], [{ volumeId: "other", path: "/data" }]]) {
      const refused = await change({ network: other });
      expect([refused.status, refused.body.detail]).toEqual([
        400,
        expect.stringMatching(/^mounts\.network: /),
      ]);
    }
    const persistent = { size: 10, path: "/w" };
    expect((await change({ persistent })).status).toBe(400);
    expect((await call("POST", "/pods", { ...pod, mounts: { network, persistent } })).status).toBe(400);
    const cpu = { name: "c", image: "a:1", cpu: { id: "cpu3c", vcpuCount: 2 } };
    const { id: cpuPod } = (await call("POST", "/pods", cpu)).body;
    expect((await call("PATCH", `/pods/${cpuPod}`, { mounts: { persistent } })).status).toBe(422);
    const moved = [{ volumeId, path: "/other" }];
    expect((await change({ network: moved })).body.mounts).toEqual({ network: moved });
  });

  test.for<[object, number, string]>([
    [{ image: "a:1", gpu: GPU }, 422, "name"],
    [{ name: "x", gpu: GPU }, 422, "image"],
    [{ name: "x", image: "a:1" }, 422, "gpu"],
    [{ name: "x", image: "a:1", gpu: GPU, cpu: { id: "cpu3c", vcpuCount: 2 } }, 422, "gpu"],
    [{ name: "x", image: "a:1", gpu: { id: "L4" } }, 422, "gpu.id: "],
    [{ name: "x", image: "NO SUCH", gpu: GPU }, 422, "image: "],
    [{ name: "x", image: "a:1", gpu: GPU, ports: ["80/udp"] }, 422, "ports"],
    [{ name: "x", image: "a:1", gpu: GPU, ports: ["80/http,22/tcp"] }, 422, "ports[0]"],
    [{ name: "x", image: "a:1", cpu: { id: "cpu3c", vcpuCount: 0 } }, 422, "cpu.vcpuCount"],
    [{ name: "x", image: "a:1", gpu: GPU, mounts: { persistent: { size: 5, path: "/w" } } }, 422, "mounts"],
    [
      { name: "x", image: "a:1", gpu: GPU, mounts: { network: [{ volumeId: "v", path: "/w" }] } },
      404,
      "mounts.network",
    ],
    [
      {
        name: "x",
        image: "a:1",
        cpu: { id: "cpu3c", vcpuCount: 2 },
        mounts: { persistent: { size: 10, path: "/w" } },
      },
      422,
      "mounts.persistent",
    ],
    [
      { name: "x", image: "a:1", gpu: { ...GPU, allowedCudaVersions: ["12.8"], minCudaVersion: "12.1" } },
      400,
      "gpu.minCudaVersion",
    ],
    [{ name: "x", image: "a:1", gpu: GPU, colour: "red" }, 422, "colour"],
    [{ name: "x", image: "a:1", gpu: GPU }, 503, "There are no longer any instances available"],
  ])("%o is refused with %i", async ([body, status, start]) => {
    const { call } = await v2Client();
    const answer = await call("POST", "/pods", body);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(start)]);
    expect(answer.body.detail).toContain(answer.body.errors?.[0] ?? start);
  });
});

test("a cluster is pods that are made and terminated together", async () => {
  const { client, call } = await v2Client();
  const host = await PodAgent.join(client);
  const cluster = { name: "train", type: "TRAINING", image: "a:1", ports: ["22/tcp"], disk: 1 };
  const compute = { gpuTypeId: POD_CARD, gpuCountPerPod: 1, podCount: 2 };
  const { body: made } = await call("POST", "/clusters", { ...cluster, compute });
  expect(made).toMatchObject({ name: "train", type: "TRAINING", compute, pods: { total: 2 } });
  const { id } = made;
  await host.follow();
  const { pods } = (await call("GET", `/clusters/${id}/pods`)).body;
  expect(pods).toMatchObject([
    { name: "train-0", status: "RUNNING", cluster: { id, rank: 0 } },
    { name: "train-1", status: "RUNNING", cluster: { id, rank: 1 } },
  ]);
  expect([made.network, pods[0].cluster.ip]).toEqual([undefined, undefined]);
  expect(pods[0].lastStatusChange).toContain("no private address");
  expect(host.assignmentOf(pods[1].id)?.env).not.toHaveProperty("MASTER_ADDR");
  expect(host.assignmentOf(pods[1].id)?.env).toMatchObject({
    NODE_RANK: "1",
    NUM_NODES: "2",
    WORLD_SIZE: "2",
  });
  expect((await call("GET", `/clusters/${id}`)).body).toMatchObject({
    ...{ dataCenterId: "US-KS-2", pods: { total: 2, byStatus: { RUNNING: 2 } } },
    primary: { podId: pods[0].id, status: "RUNNING", sshEndpoint: "203.0.113.7:20000" },
  });
  expect((await call("GET", "/clusters")).body.clusters).toMatchObject([{ id }]);
  const { call: stranger } = await v2Client();
  for (const [method, path, body] of [
    ["GET", ""],
    ["GET", "/pods"],
    ["PATCH", "", { name: "theirs" }],
    ["DELETE", ""],
  ] as const) {
    expect(await stranger(method, `/clusters/${id}${path}`, body)).toMatchObject({ status: 404 });
  }
  expect((await stranger("GET", "/clusters")).body.clusters).toEqual([]);
  expect((await call("GET", "/pods")).body.pods).toEqual([]);
  expect((await call("GET", "/pods?includeClusterPods=true")).body.pods).toHaveLength(2);
  expect((await call("PATCH", `/clusters/${id}`, { name: "other" })).body).toMatchObject({
    id,
    name: "other",
  });
  expect((await call("DELETE", `/clusters/${id}`)).status).toBe(204);
  expect((await call("GET", "/pods?includeClusterPods=true")).body.pods).toEqual([]);
  await host.follow();
  expect(host.assignments).toEqual([]);

  // The first two have a place, the third has none: nothing is left.
  const partly = await call("POST", "/clusters", { ...cluster, compute: { ...compute, podCount: 3 } });
  expect(partly).toMatchObject({ status: 503, body: { code: "no_capacity" } });
  expect((await call("GET", "/pods?includeClusterPods=true")).body.pods).toEqual([]);
  expect((await call("GET", "/clusters")).body.clusters).toEqual([]);
  await host.follow();
  expect(host.assignments).toEqual([]);

  for (const method of ["GET", "DELETE"]) expect((await call(method, `/clusters/${id}`)).status).toBe(404);
  expect((await call("GET", `/clusters/${id}/pods`)).status).toBe(404);
  const one = await call("POST", "/clusters", { ...cluster, compute: { ...compute, podCount: 1 } });
  expect(one).toMatchObject({ status: 422, body: { detail: expect.stringContaining("compute.podCount") } });
  const unknown = await call("POST", "/clusters", { ...cluster, compute: { ...compute, gpuTypeId: "L4" } });
  expect(unknown).toMatchObject({ status: 422, body: { detail: expect.stringContaining("L4") } });
});

test("pods of a cluster have private addresses where their host keeps clusters apart", async () => {
  const { client, call } = await v2Client();
  const host = await PodAgent.join(client, { canJoinClusters: true });
  const compute = { gpuTypeId: POD_CARD, gpuCountPerPod: 1, podCount: 2 };
  const body = { name: "c", type: "TRAINING", image: "a:1", disk: 1, env: { MASTER_PORT: "1234" }, compute };
  const { body: made } = await call("POST", "/clusters", body);
  await host.follow();
  const { pods } = (await call("GET", `/clusters/${made.id}/pods`)).body;
  const [first, second] = [pods[0].cluster.ip, pods[1].cluster.ip];
  expect(made.network).toEqual({ cidr: "198.19.0.0/16" });
  expect(host.assignmentOf(pods[1].id)).toMatchObject({
    pod: { clusterAddress: second },
    env: {
      NODE_ADDR: second,
      MASTER_ADDR: first,
      PRIMARY_ADDR: first,
      PRIMARY_PORT: "29500",
      HOST_NODE_ADDR: `${first}:29500`,
      MASTER_PORT: "1234", // what is set stays
    },
  });
  const shown = await client.graphql(
    `{ pod(input: { podId: "${pods[1].id}" }) { clusterIp lastStatusChange } }`,
  );
  expect(shown).toEqual({
    pod: { clusterIp: second, lastStatusChange: expect.not.stringContaining("address") },
  });
  await call("DELETE", `/clusters/${made.id}`);
});

test("other methods are 405 and other paths 404, as problems; a missing key is 401", async () => {
  const { client } = await v2Client();
  const wrong = await client.call("DELETE", "/v2/serverless");
  expect(wrong).toMatchObject({ status: 405, body: { status: 405, title: "Method Not Allowed" } });
  expect(wrong.headers.get("Allow")).toBe("GET, POST");
  expect(wrong.headers.get("Content-Type")).toBe("application/problem+json");
  expect(await client.call("GET", "/v2/templates/x/y")).toMatchObject({ status: 404, body: { status: 404 } });
  expect(await new EdgeClient("wrong").call("GET", "/v2/templates")).toMatchObject({
    status: 401,
    body: { status: 401 },
  });
});

test("every operation was tried here", async () => {
  const ids = restV2Apis.flatMap(({ operations }) => operations.map(({ id }) => id));
  const elsewhere = new Set([...checkedOperations, "followWorkerLogs", "streamContainerPodLogs"]); // openapi-answers.test.ts
  expect(ids.filter((id) => !elsewhere.has(id))).toEqual([]);
});
