import { env } from "cloudflare:workers";
import { test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import type { Env } from "../../src/env.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient, savedEndpoint, type Client } from "./graphql-client.ts";
import { holding } from "./message-facts.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

/** The real objects behind a wire that shows what is said to them, and that can be cut. */
function tappedWire() {
  const configs: EndpointConfig[] = [];
  const removed: string[] = [];
  const wire = { isCut: false };
  const pass = async (call: () => Promise<void>) => {
    if (wire.isCut) throw new Error("the wire is cut");
    await call();
  };
  const namespace = {
    getByName: (name: string) => ({
      configure: (config: EndpointConfig) =>
        pass(async () => {
          await env.ENDPOINT.getByName(name).configure(config);
          configs.push(config);
        }),
      usage: (since: number) => env.ENDPOINT.getByName(name).usage(since),
      remove: () =>
        pass(async () => {
          await env.ENDPOINT.getByName(name).remove();
          removed.push(name);
        }),
    }),
  };
  const bindings: Env = { ...env, ENDPOINT: namespace as unknown as Env["ENDPOINT"] };
  return { bindings, configs, removed, wire };
}

const change = async (client: Client, id: string, fields: string) =>
  await client.send(`mutation { saveEndpoint(input: { id: "${id}", ${fields} }) { id version } }`);

test("the object learns of a creation and of every change at once", async ({ expect }) => {
  const { bindings, configs } = tappedWire();
  const client = await freshClient(bindings);
  const { id } = await savedEndpoint(
    client,
    ', workersMax: 2, locations: "US, EU-RO-1", gpuCount: 2, idleTimeout: 9',
  );

  expect(configs).toEqual([
    {
      endpointId: id,
      accountId: client.accountId,
      name: "endpoint",
      type: "QB",
      version: 1,
      workersMin: 0,
      workersMax: 2,
      idleTimeoutSeconds: 9,
      scalerType: "QUEUE_DELAY",
      scalerValue: 4,
      executionTimeoutMs: 600_000,
      queueDepthMax: 1_000_000,
      shareWeight: 1,
      sharePriority: "NORMAL",
      gpuTiers: ["AMPERE_16"],
      excludedGpuModels: [],
      flashBootType: null,
      gpuCount: 2,
      gpuMemoryGb: 0,
      locations: ["US", "EU-RO-1"],
      instanceIds: [],
      networkVolumeIds: [],
      allowedCudaVersions: [],
      minCudaVersion: null,
      containerDiskInGb: 5,
      contents: ["image:example/worker:1"],
      workersPfbTarget: 0,
    },
  ]);

  await change(client, id, 'gpuIds: "AMPERE_80,ADA_24,-NVIDIA A100-SXM4-80GB"');
  expect(configs[1]).toMatchObject({
    version: 2,
    gpuTiers: ["AMPERE_80", "ADA_24"],
    excludedGpuModels: ["NVIDIA A100-SXM4-80GB"],
  });
  await change(client, id, 'instanceIds: ["cpu5c-4-8"]');
  expect(configs[2]).toMatchObject({ version: 3, gpuTiers: [], excludedGpuModels: [], gpuCount: 0 });
});

test("the objects of all endpoints of a template learn of its change", async ({ expect }) => {
  const { bindings, configs } = tappedWire();
  const client = await freshClient(bindings);
  const one = await savedEndpoint(client);
  const two = await client.send(`mutation { saveEndpoint(input: { name: "two", gpuIds: "ADA_24",
    templateId: "${one.templateId}" }) { id } }`);
  configs.length = 0;

  await client.send(`mutation { saveTemplate(input: { id: "${one.templateId}", imageName: "b:2" }) { id } }`);
  const told = configs.map(({ endpointId, version }) => ({ endpointId, version }));
  expect(told).toHaveLength(2);
  expect(told).toEqual(
    expect.arrayContaining([
      { endpointId: one.id, version: 2 },
      { endpointId: two.data.saveEndpoint.id, version: 2 },
    ]),
  );
});

test("the last announcement to an object carries the newest configuration", async ({ expect }) => {
  const { bindings, configs } = tappedWire();
  const client = await freshClient(bindings);
  const { id } = await savedEndpoint(client);

  await Promise.all([1, 2, 3, 4].map((workersMax) => change(client, id, `workersMax: ${workersMax}`)));

  const { data } = await client.send(`{ myself { endpoint(id: "${id}") { workersMax } } }`);
  expect(configs.at(-1)?.workersMax).toBe(data.myself.endpoint.workersMax);
});

test("a change that did not reach the object fails as retryable, and saving again repairs it", async ({
  expect,
}) => {
  const { bindings, configs, wire } = tappedWire();
  const client = await freshClient(bindings);
  const { id, templateId } = await savedEndpoint(client);

  wire.isCut = true;
  const failed = await change(client, id, 'gpuIds: "ADA_24"');
  expect(failed.status).toBe(200);
  expect(codeOf(failed)).toBe("UNAVAILABLE");
  expect(failed.errors[0].message).toMatch(holding(id));
  const template = `mutation { saveTemplate(input: { id: "${templateId}", imageName: "b:2" }) { id } }`;
  expect(codeOf(await client.send(template))).toBe("UNAVAILABLE");
  configs.length = 0;

  wire.isCut = false;
  const healed = await change(client, id, 'gpuIds: "ADA_24"');
  expect(healed.data.saveEndpoint).toEqual({ id, version: 3 });
  expect(configs.at(-1)).toMatchObject({ version: 3, gpuTiers: ["ADA_24"] });
  expect((await client.send(template)).errors).toBeUndefined();
  expect(configs.at(-1)).toMatchObject({ endpointId: id, version: 3 });
});

test("a deletion that did not reach the object hides the endpoint, and deleting again completes it", async ({
  expect,
}) => {
  const { bindings, removed, wire } = tappedWire();
  const client = await freshClient(bindings);
  const { id } = await savedEndpoint(client, ", workersMax: 0");
  const deletion = `mutation { deleteEndpoint(id: "${id}") }`;

  wire.isCut = true;
  expect(codeOf(await client.send(deletion))).toBe("UNAVAILABLE");
  const { data } = await client.send(`{ myself { endpoint(id: "${id}") { id } } }`);
  expect(data.myself.endpoint).toBeNull();

  wire.isCut = false;
  expect((await client.send(deletion)).body).toEqual({ data: { deleteEndpoint: null } });
  expect(removed).toEqual([`${id}#0`]);
  expect(codeOf(await client.send(deletion))).toBe("ENDPOINT_NOT_FOUND");
});

test("another account cannot complete a deletion", async ({ expect }) => {
  const { bindings, removed, wire } = tappedWire();
  const [one, two] = [await freshClient(bindings), await freshClient(bindings)];
  const { id } = await savedEndpoint(one, ", workersMax: 0");
  wire.isCut = true;
  await one.send(`mutation { deleteEndpoint(id: "${id}") }`);

  wire.isCut = false;
  expect(codeOf(await two.send(`mutation { deleteEndpoint(id: "${id}") }`))).toBe("ENDPOINT_NOT_FOUND");
  expect(removed).toEqual([]);
});

test("the next job runs by what the endpoint says now", async ({ expect }) => {
  await signInAsNewAccount();
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const runOne = async () => {
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const job = await agent.take(endpointId, workerId);
    await agent.complete(endpointId, job, 1);
    return job.executionTimeoutMs;
  };
  const save = (fields: string) =>
    graphql(`mutation { saveEndpoint(input: { id: "${endpointId}", ${fields} }) { id } }`);

  expect(await runOne()).toBe(600_000);
  await save("executionTimeoutMs: 30000");
  expect(await runOne()).toBe(30_000);
  await save("executionTimeoutMs: 0");
  expect(await runOne()).toBe(600_000);

  await save("workersMin: 0, workersMax: 0");
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const status = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
  expect(status.body["queue"]).toMatchObject({ reason: "workers_max_is_zero" });
});
