/** `podEditJob`: the fields of a creation for a pod that is there. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, test } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { pod } from "../../src/db/schema.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient, type Answer, type Client } from "./graphql-client.ts";
import { holding, type Issue, issueAt } from "./message-facts.ts";
import { POD_CARD, POD_HOST, PodAgent } from "./pod-agent.ts";

const db = openDatabase(env.DB);
const own = new EdgeClient();
let client: Client;

beforeEach(async () => {
  client = await freshClient();
  own.signInAs(client);
});

const GPU_POD = `imageName: "a:1", gpuTypeId: "${POD_CARD}", ports: "22/tcp"`;

async function send(operation: string, input: string, selection = "{ id }"): Promise<Answer> {
  return await client.send(`mutation { ${operation}(input: { ${input} }) ${selection} }`);
}

async function done(operation: string, input: string, selection = "id") {
  const { data, errors } = await send(operation, input, `{ ${selection} }`);
  if (errors) throw new Error(JSON.stringify(errors));
  return data[operation];
}

/** Makes a pod, and returns its id. */
async function made(input: string, operation = "podFindAndDeployOnDemand"): Promise<string> {
  return (await done(operation, input)).id;
}

async function edit(podId: string, input: string, selection = "id") {
  return await done("podEditJob", `podId: "${podId}", ${input}`, selection);
}

async function shown(podId: string, selection: string) {
  return (await client.send(`{ pod(input: { podId: "${podId}" }) { ${selection} } }`)).data.pod;
}

/** What D1 has of a pod. A refused change counts as a write. */
async function rowOf(podId: string) {
  const row = await db.select().from(pod).where(eq(pod.id, podId)).get();
  const { rowVersion: _, updatedAt: __, ...rest } = row ?? {};
  return rest;
}

async function volumeIn(dataCenterId: string): Promise<string> {
  const input = `name: "v", size: 10, dataCenterId: "${dataCenterId}"`;
  return (await done("createNetworkVolume", input)).id;
}

describe("a pod that has what it needs then where it is", () => {
  test("gets other needs, and its container is left alone", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const id = await made(`bidPerGpu: 0.2, ${GPU_POD}`, "podRentInterruptable");
    await host.follow();
    const edits: [input: string, stored: object][] = [
      [`gpuTypeIdList: ["NVIDIA L40S", "${POD_CARD}"]`, { gpuTypeIds: ["NVIDIA L40S", POD_CARD] }],
      [`gpuTypeId: "${POD_CARD}", gpuCount: 1, computeType: GPU`, { gpuTypeIds: [POD_CARD], gpuCount: 1 }],
      ["gpuTypeIdList: [], instanceIds: []", { gpuTypeIds: [POD_CARD], instanceIds: [] }],
      ["minVcpuCount: 3, minMemoryInGb: 9", { minVcpuCount: 3, minMemoryInGb: 9 }],
      ["minVcpuCount: 0", { minVcpuCount: 0, minMemoryInGb: 9 }],
      ['dataCenterId: "EU-RO-1,US-KS-2"', { locations: ["EU-RO-1", "US-KS-2"] }],
      ['countryCode: "US"', { locations: ["US"] }],
      ['dataCenterIds: ["EU-RO-1", "US-KS-2"], countryCode: "US"', { locations: ["US-KS-2"] }],
      ['dataCenterId: null, name: "n"', { locations: ["US-KS-2"], name: "n" }],
      ['dataCenterId: ""', { locations: [] }],
      ['allowedCudaVersions: ["12.8"], cudaVersion: "13.0"', { allowedCudaVersions: "13.0,12.8" }],
      ['minCudaVersion: "12.4"', { allowedCudaVersions: "13.0,12.8", minCudaVersion: "12.4" }],
      ['allowedCudaVersions: [], minCudaVersion: ""', { allowedCudaVersions: null, minCudaVersion: null }],
      ["supportPublicIp: true", { needsPublicAddress: true }],
      ["bidPerGpu: 0.5", { bidPerGpu: 0.5, needsPublicAddress: true, isInterruptible: true }],
    ];
    for (const [input, stored] of edits) {
      await edit(id, input);
      expect([input, await rowOf(id)]).toMatchObject([input, stored]);
    }
    const before = await rowOf(id);
    await edit(
      id,
      `cloudType: ALL, volumeKey: "k", deployCost: 1.5, minDisk: 1, minDownload: 1, minUpload: 1, port: 80,
       globalNetwork: true, compliance: [], savingsPlan: {}, aiApiId: "", ideAiApiId: "", modelReferences: []`,
    );
    expect(await rowOf(id)).toEqual(before);
    await host.follow();
    expect(host.assignmentOf(id)).toMatchObject({ revision: 1, gpuIndexes: [0] });
  });
});

describe("a pod that needs more then", () => {
  test("has a new container on its host where that has it", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const id = await made(`${GPU_POD}, volumeInGb: 10`);
    await host.follow();
    const size = "gpuCount vcpuCount memoryInGb desiredStatus";
    expect(await shown(id, size)).toMatchObject({ gpuCount: 1, vcpuCount: 4, memoryInGb: 16 });
    expect(await edit(id, "minMemoryInGb: 20", size)).toMatchObject({
      memoryInGb: 20,
      desiredStatus: "RUNNING",
    });
    await host.follow();
    expect(host.assignmentOf(id)).toMatchObject({ revision: 2, gpuIndexes: [0] });
    // Less is no reason for another container.
    await edit(id, "minMemoryInGb: 1");
    await host.follow();
    expect(host.assignmentOf(id)?.revision).toBe(2);
    expect(await edit(id, "gpuCount: 2", size)).toMatchObject({ gpuCount: 2, vcpuCount: 8, memoryInGb: 32 });
    await host.follow();
    expect(host.assignmentOf(id)).toMatchObject({ revision: 3, gpuIndexes: [0, 1] });
  });

  test("moves to another host that has it, when its volume does not hold it", async ({ expect }) => {
    const gpus = POD_HOST.gpus.slice(0, 1);
    const small = await PodAgent.join(own, { gpus, dataCenterId: "EU-RO-1" });
    const id = await made(GPU_POD);
    await small.follow();
    const large = await PodAgent.join(own);
    expect(await edit(id, "gpuCount: 2", "desiredStatus gpuCount")).toEqual({
      ...{ desiredStatus: "RUNNING", gpuCount: 2 },
    });
    expect(large.assignmentOf(id)).toBeUndefined();
    await small.follow();
    await large.follow();
    expect(small.assignmentOf(id)).toBeUndefined();
    expect(large.assignmentOf(id)).toMatchObject({ gpuIndexes: [0, 1] });
    expect(await shown(id, "dataCenterId machineId")).toEqual({
      ...{ dataCenterId: "US-KS-2", machineId: large.agent.hostId },
    });
    await edit(id, 'gpuCount: 1, dataCenterId: "EU-RO-1"');
    await large.follow();
    await small.follow();
    expect(await shown(id, "dataCenterId gpuCount")).toEqual({ dataCenterId: "EU-RO-1", gpuCount: 1 });
  });

  test("stays as it was where nothing has it", async ({ expect }) => {
    const host = await PodAgent.join(own);
    await PodAgent.join(own, { dataCenterId: "EU-RO-1", memoryMb: 64_000 });
    const held = await made(`${GPU_POD}, volumeInGb: 10, dataCenterId: "US-KS-2"`);
    const free = await made(`${GPU_POD}, dataCenterId: "US-KS-2"`);
    await host.follow();
    const rejected: [podId: string, input: string, facts: (string | number)[]][] = [
      [held, 'gpuCount: 2, name: "other"', [POD_CARD]],
      [held, 'dataCenterId: "EU-RO-1"', ["EU-RO-1", "US-KS-2"]],
      [held, "minMemoryInGb: 40", []],
      [held, 'gpuTypeId: "NVIDIA L4"', ["NVIDIA L4"]],
      [free, "minMemoryInGb: 40", []],
      [free, 'gpuTypeId: "NVIDIA L4", imageName: "b:1"', ["NVIDIA L4"]],
    ];
    for (const [podId, input, facts] of rejected) {
      const [before, seen] = [await rowOf(podId), await shown(podId, "version machineId gpuCount")];
      const answer = await send("podEditJob", `podId: "${podId}", ${input}`);
      expect([input, codeOf(answer)]).toEqual([input, "NO_CAPACITY"]);
      expect(answer.errors[0].message).toMatch(holding(...facts));
      expect(answer.errors[0].message.includes("volume of the pod")).toBe(podId === held);
      expect([await rowOf(podId), await shown(podId, "version machineId gpuCount")]).toEqual([before, seen]);
    }
    await host.follow();
    expect([host.assignmentOf(held)?.revision, host.assignmentOf(free)?.revision]).toEqual([1, 1]);
  });
});

test("a pod on CPUs gets another size", async ({ expect }) => {
  const host = await PodAgent.join(own);
  const id = await made('imageName: "a:1", instanceId: "cpu3c-2-4"', "deployCpuPod");
  await host.follow();
  const size = "gpuCount vcpuCount memoryInGb";
  const edits: [input: string, vcpuCount: number, memoryInGb: number, revision: number][] = [
    ['instanceId: "cpu3c-4-8"', 4, 8, 2],
    ['instanceIds: ["cpu3c-2-4"]', 2, 4, 3],
    ['instanceIds: ["cpu5c-2-4", "cpu3c-2-4"], gpuCount: 2', 2, 4, 3],
    [`computeType: CPU, gpuTypeId: "${POD_CARD}", minVcpuCount: 3`, 3, 4, 4],
  ];
  for (const [input, vcpuCount, memoryInGb, revision] of edits) {
    expect(await edit(id, input, size)).toEqual({ gpuCount: 0, vcpuCount, memoryInGb });
    await host.follow();
    expect([input, host.assignmentOf(id)?.revision]).toEqual([input, revision]);
  }
});

test("a network volume is attached, replaced and left, and decides the data center", async ({ expect }) => {
  const [volumeId, otherId, far] = [
    await volumeIn("US-KS-2"),
    await volumeIn("US-KS-2"),
    await volumeIn("EU-RO-1"),
  ];
  const host = await PodAgent.join(own);
  const id = await made(`${GPU_POD}, volumeInGb: 10, dataCenterId: "US-KS-2"`);
  await host.follow();
  expect(host.podVolumes).toEqual([id]);
  const selection = "networkVolumeId volumeMountPath version";
  expect(await edit(id, `networkVolumeId: "${volumeId}", volumeMountPath: "/data"`, selection)).toEqual({
    ...{ networkVolumeId: volumeId, volumeMountPath: "/data", version: 2 },
  });
  await host.follow();
  expect(host.podVolumes).toEqual([]);
  expect(host.assignmentOf(id)).toMatchObject({ revision: 2, networkVolumeIds: [volumeId] });
  const mounts = `volumeMounts: [{ volumeId: "${otherId}", volumeType: NETWORK_VOLUME, mountPath: "/other" }]`;
  expect(await edit(id, mounts, selection)).toMatchObject({
    networkVolumeId: otherId,
    volumeMountPath: "/other",
  });
  const refused: [input: string, field: string, code: string][] = [
    ['dataCenterId: "EU-RO-1"', "networkVolumeId", "INVALID_INPUT"],
    [`networkVolumeId: "${far}", dataCenterId: "US-KS-2"`, "networkVolumeId", "INVALID_INPUT"],
    ['networkVolumeId: "no-such"', "networkVolumeId", "NETWORK_VOLUME_NOT_FOUND"],
  ];
  for (const [input, field, code] of refused) {
    const answer = await send("podEditJob", `podId: "${id}", ${input}`);
    expect([input, codeOf(answer)]).toEqual([input, code]);
    expect(answer.errors[0].message).toMatch(issueAt(field));
  }
  expect(codeOf(await send("podEditJob", `podId: "${id}", networkVolumeId: "${far}"`))).toBe("NO_CAPACITY");
  expect(await rowOf(id)).toMatchObject({ networkVolumeId: otherId, locations: ["US-KS-2"] });
  expect(await edit(id, 'networkVolumeId: "", volumeInGb: 0', selection)).toMatchObject({
    networkVolumeId: null,
  });
  expect(await rowOf(id)).toMatchObject({ locations: ["US-KS-2"] });
  const answer = await send("podEditJob", `podId: "${id}", networkVolumeId: "${far}"`);
  expect(answer.errors[0].message).toMatch(issueAt("networkVolumeId", far, "EU-RO-1", "US-KS-2"));
});

test("services and a template are changed as they are given at the creation", async ({ expect }) => {
  const host = await PodAgent.join(own);
  const id = await made(`${GPU_POD}, env: [{ key: "A", value: "1" }]`);
  await edit(id, "startJupyter: true, startSsh: true");
  await host.follow();
  expect(host.assignmentOf(id)).toMatchObject({
    ...{ revision: 2, env: { A: "1", JUPYTER_PASSWORD: expect.stringMatching(/./) } },
    pod: { services: ["jupyter"] },
  });
  const { env: variables } = await edit(id, 'env: [{ key: "B", value: "2" }]', "env");
  expect(variables).toEqual(["B=2", expect.stringMatching(/^JUPYTER_PASSWORD=./)]);
  const selection = "templateId imageName ports env";
  const edited = await edit(
    id,
    'templateId: "runpod-ubuntu", ports: "22/tcp", startJupyter: false',
    selection,
  );
  expect(edited).toEqual({
    ...{ templateId: "runpod-ubuntu", imageName: expect.stringMatching(/^runpod\/base:/), ports: "22/tcp" },
    env: [],
  });
});

test("what a pod cannot be is refused by field, and it stays as it is", async ({ expect }) => {
  await PodAgent.join(own);
  const gpu = await made(GPU_POD);
  const cpu = await made('imageName: "a:1"', "deployCpuPod");
  const rejections: [podId: string, input: string, issue: Issue][] = [
    [gpu, 'gpuTypeId: "L4"', ["gpuTypeId", "'L4'"]],
    [gpu, "gpuCount: 0", ["gpuCount"]],
    [gpu, "gpuCount: 65", ["gpuCount"]],
    [gpu, "minVcpuCount: -1", ["minVcpuCount"]],
    [gpu, "minMemoryInGb: -1", ["minMemoryInGb"]],
    [gpu, 'dataCenterId: "moon"', ["dataCenterId"]],
    [gpu, 'dataCenterId: "EU-RO-1", countryCode: "US"', ["countryCode"]],
    [gpu, 'countryCode: "ZZ"', ["countryCode"]],
    [gpu, 'allowedCudaVersions: ["9"]', ["allowedCudaVersions[0]"]],
    [gpu, 'minCudaVersion: "9"', ["minCudaVersion"]],
    [gpu, "bidPerGpu: -1", ["bidPerGpu"]],
    [
      gpu,
      'volumeMounts: [{ volumeId: "g", volumeType: OBJECT_STORE_VOLUME }]',
      ["volumeMounts[0].volumeType"],
    ],
    [gpu, 'instanceIds: ["cpu3c-2-4"]', ["instanceIds", gpu]],
    [gpu, `instanceId: "cpu3c-2-4", gpuTypeId: "${POD_CARD}"`, ["instanceIds"]],
    [gpu, "computeType: CPU", ["computeType", gpu]],
    [cpu, "computeType: GPU", ["computeType", cpu]],
    [cpu, `gpuTypeId: "${POD_CARD}"`, ["gpuTypeId", cpu]],
    [cpu, 'instanceId: "cpu3c-2-8"', ["instanceIds[0]"]],
  ];
  const before = [await rowOf(gpu), await rowOf(cpu)];
  for (const [podId, input, issue] of rejections) {
    const answer = await send("podEditJob", `podId: "${podId}", name: "other", ${input}`);
    expect([input, codeOf(answer)]).toEqual([input, "INVALID_INPUT"]);
    expect(answer.errors[0].message).toMatch(issueAt(...issue));
  }
  expect([await rowOf(gpu), await rowOf(cpu)]).toEqual(before);
});

test("pods of a cluster stay alike and in one data center", async ({ expect }) => {
  await PodAgent.join(own, {
    gpus: [...POD_HOST.gpus, ...POD_HOST.gpus].map((gpu, index) => ({ ...gpu, index })),
  });
  const { pods } = await done(
    "createCluster",
    `clusterName: "c", podCount: 2, gpuTypeId: "${POD_CARD}", gpuCountPerPod: 1, imageName: "a:1"`,
    "pods { id }",
  );
  const [, { id }] = pods;
  const rejections: [operation: string, input: string, field: string][] = [
    ["podEditJob", "gpuCount: 2", "gpuCount"],
    ["podResume", "gpuCount: 2", "gpuCount"],
    ["podEditJob", 'gpuTypeIdList: ["NVIDIA L4"]', "gpuTypeId"],
    ["podEditJob", 'dataCenterId: "EU-RO-1"', "dataCenterId"],
  ];
  for (const [operation, input, field] of rejections) {
    const answer = await send(operation, `podId: "${id}", ${input}`);
    expect([input, codeOf(answer)]).toEqual([input, "INVALID_INPUT"]);
    expect(answer.errors[0].message).toMatch(issueAt(field, id));
  }
  const same = `gpuCount: 1, gpuTypeId: "${POD_CARD}", dataCenterId: "US-KS-2", imageName: "b:1"`;
  expect(await edit(id, same, "imageName gpuCount")).toEqual({ imageName: "b:1", gpuCount: 1 });
});
