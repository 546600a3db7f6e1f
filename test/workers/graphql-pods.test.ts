import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { SyncRequest, WorkerState } from "../../src/contract/agent/agent.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient, type Client } from "./graphql-client.ts";
import { passTime } from "./object.ts";
import { POD_CARD, POD_HOST, PodAgent } from "./pod-agent.ts";
import { type Issue, issueAt } from "./message-facts.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { createEndpoint, graphql, signInAsNewAccount } = api;

const POD = `id name podType desiredStatus imageName dockerArgs dockerId env gpuCount vcpuCount memoryInGb
  containerDiskInGb volumeInGb volumeMountPath ports port costPerHr version templateId networkVolumeId
  containerRegistryAuthId machineId machine { podHostId gpuTypeId gpuDisplayName isGpuSimulated location } dataCenterId clusterIp clusterIdx
  clusterRole lastStartedAt lastStatusChange uptimeSeconds latestTelemetry { state time }
  runtime { uptimeInSeconds ports { ip isIpPublic privatePort publicPort type }
    gpus { id gpuUtilPercent memoryUtilPercent } container { cpuPercent memoryPercent } }`;

const GPU = { index: 0, name: "NVIDIA RTX A4000", tier: "AMPERE_16", memoryMb: 16_384, isSimulated: false };
const HOST = {
  ...INVENTORY,
  gpus: [GPU, { ...GPU, index: 1 }],
  cpuCount: 8,
  memoryMb: 16_000,
  dataCenterId: "US-KS-2",
};

describe("workers of an endpoint", () => {
  beforeEach(signInAsNewAccount);
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  type Pod = Record<string, unknown>;
  const podsOf = async (endpointId: string, selection = POD): Promise<Pod[]> => {
    const data = await graphql<{ myself: { endpoint: { pods: Pod[] } } }>(
      `{ myself { endpoint(id: "${endpointId}") { pods { ${selection} } } } }`,
    );
    return data.myself.endpoint.pods;
  };

  /** A host with one worker of the endpoint, and a way to say where the worker stands. */
  async function hostOf(endpointId: string, inventory = HOST) {
    const agent = await ScriptedAgent.join(api);
    const { workerId, revision } = await until(
      async () => (await agent.sync({ inventory })).assignments[0],
      "the host has a worker",
    );
    type Report = SyncRequest["workers"][number];
    const say = async (state: WorkerState, more: Partial<Report> = {}) => {
      await agent.sync({ inventory, workers: [{ workerId, endpointId, revision, state, ...more }] });
    };
    return { agent, workerId, say };
  }

  test("a worker that is up is a running pod, with its host, its GPU and its price", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, gpuCount: 2");
    const { agent, workerId, say } = await hostOf(endpointId);
    await say("ready", { ago: { containerStarted: 7_000, ready: 2_000 } });
    const readyAt = new Date(Date.now() - 2_000).toISOString();
    passTime(60_000);

    const { name, templateId, ...pod } = (await podsOf(endpointId))[0] ?? {};
    expect(name).toMatch(/^test-/);
    expect(templateId).toMatch(/^[a-z0-9]{14}$/);
    expect(pod).toEqual({
      id: workerId,
      podType: null,
      desiredStatus: "RUNNING",
      imageName: "test:1",
      dockerArgs: "",
      dockerId: null,
      env: [],
      gpuCount: 2,
      vcpuCount: 8,
      memoryInGb: 15.625,
      containerDiskInGb: 5,
      volumeInGb: 0,
      volumeMountPath: "",
      ports: "",
      port: null,
      costPerHr: 0.032,
      version: 1,
      networkVolumeId: null,
      containerRegistryAuthId: null,
      machineId: agent.hostId,
      machine: {
        podHostId: `${workerId}-${agent.hostId.slice(0, 8)}`,
        gpuTypeId: "NVIDIA RTX A4000",
        gpuDisplayName: "RTX A4000",
        isGpuSimulated: false,
        location: "US",
      },
      dataCenterId: "US-KS-2",
      clusterIp: null,
      clusterIdx: null,
      clusterRole: null,
      lastStartedAt: new Date(Date.now() - 67_000).toISOString(),
      lastStatusChange: `Ready since ${readyAt}`,
      latestTelemetry: null,
      uptimeSeconds: 67,
      runtime: {
        uptimeInSeconds: 67,
        ports: [],
        gpus: [
          { id: "0", gpuUtilPercent: null, memoryUtilPercent: null },
          { id: "1", gpuUtilPercent: null, memoryUtilPercent: null },
        ],
        container: null,
      },
    });
  });

  test("its state follows what its agent says, and there is no runtime before it is up", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
    const { say } = await hostOf(endpointId);
    const states = {
      pulling: ["CREATED", "Pulling the image since"],
      starting: ["CREATED", "Starting since"],
      ready: ["RUNNING", "Ready: in message"],
      unhealthy: ["RUNNING", "Unhealthy: in message"],
      crash_looping: ["RESTARTING", "Waiting to start again: in message"],
      stopping: ["EXITED", "Stopping: in message"],
    } as const;
    for (const [state, [desiredStatus, message]] of Object.entries(states)) {
      await say(state as WorkerState, { detail: "in message" });
      const [pod] = await podsOf(endpointId, "desiredStatus lastStatusChange runtime { uptimeInSeconds }");
      expect([state, pod]).toEqual([
        state,
        {
          desiredStatus,
          lastStatusChange: expect.stringContaining(message),
          runtime: state === "ready" ? { uptimeInSeconds: 0 } : null,
        },
      ]);
    }
  });

  test("a worker with a simulated GPU is distinguished from one with a real GPU", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
    await hostOf(endpointId, { ...HOST, gpus: [{ ...GPU, isSimulated: true }] });
    expect(await podsOf(endpointId, "machine { gpuDisplayName isGpuSimulated }")).toEqual([
      { machine: { gpuDisplayName: "RTX A4000", isGpuSimulated: true } },
    ]);
  });

  test("a worker without GPUs has the size of its instance", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 0, workersMax: 1");
    await graphql(`mutation { saveEndpoint(input: { id: "${endpointId}", workersMin: 1,
      instanceIds: ["cpu5c-4-8"], gpuIds: "" }) { id } }`);
    await hostOf(endpointId);
    const selection = "gpuCount vcpuCount memoryInGb costPerHr machine { gpuDisplayName }";
    expect(await podsOf(endpointId, selection)).toEqual([
      { gpuCount: 0, vcpuCount: 4, memoryInGb: 8, costPerHr: 0.004, machine: { gpuDisplayName: null } },
    ]);
  });

  test("variables of the container are not shown", async ({ expect }) => {
    const endpointId = await createEndpoint('workersMin: 1, env: [{ key: "TOKEN", value: "hush" }]');
    const { say } = await hostOf(endpointId);
    await say("ready");
    expect(JSON.stringify(await podsOf(endpointId))).not.toContain("hush");
  });

  test("an endpoint without workers has no pods", async ({ expect }) => {
    const endpointId = await createEndpoint();
    expect(await podsOf(endpointId)).toEqual([]);
  });
});

describe("pods", () => {
  const own = new EdgeClient();
  let client: Client;

  beforeEach(async () => {
    client = await freshClient();
    own.signInAs(client);
  });

  const send = async (operation: string, input: string, selection = "{ id }") =>
    await client.send(`mutation { ${operation}(input: { ${input} }) ${selection} }`);

  async function made(operation: string, input: string, selection = POD) {
    const { data, errors } = await send(operation, input, `{ ${selection} }`);
    if (errors) throw new Error(JSON.stringify(errors));
    return data[operation];
  }

  async function shown(podId: string, selection = POD) {
    return (await client.send(`{ pod(input: { podId: "${podId}" }) { ${selection} } }`)).data.pod;
  }

  const CARD = `gpuTypeId: "${POD_CARD}"`;
  /** As clients send it. */
  const DEPLOYMENT = `name: "pod", imageName: "a:1", cloudType: ALL, startSsh: true, ${CARD}, supportPublicIp: true,
    gpuCount: 2, volumeInGb: 0, minVcpuCount: 1, minMemoryInGb: 1, dataCenterId: null, dockerArgs: "",
    containerDiskInGb: 10, ports: "22/tcp,8888/http,", volumeMountPath: "/runpod-volume",
    env: [{ key: "A", value: "1" }], networkVolumeId: "", allowedCudaVersions: [], deployCost: 0.5`;

  test("one that runs has all that clients select", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const { id, runtime, desiredStatus, machineId } = await made("podFindAndDeployOnDemand", DEPLOYMENT);
    expect({ runtime, desiredStatus, machineId }).toEqual({
      ...{ runtime: null, desiredStatus: "RUNNING", machineId: host.agent.hostId },
    });
    await host.follow();
    const { lastStartedAt, lastStatusChange, ...pod } = await shown(id);
    expect(Date.parse(lastStartedAt)).toBeGreaterThan(0);
    expect(lastStatusChange).toMatch(/^Ready since /);
    expect(pod).toEqual({
      id,
      name: "pod",
      podType: "RESERVED",
      desiredStatus: "RUNNING",
      imageName: "a:1",
      dockerArgs: "",
      dockerId: null,
      env: ["A=1"],
      gpuCount: 2,
      vcpuCount: 8,
      memoryInGb: 32,
      containerDiskInGb: 10,
      volumeInGb: 0,
      volumeMountPath: "/runpod-volume",
      ports: "22/tcp,8888/http",
      port: null,
      costPerHr: 0.032,
      version: 1,
      templateId: null,
      networkVolumeId: null,
      containerRegistryAuthId: null,
      machineId: host.agent.hostId,
      machine: {
        podHostId: `${id}-${host.agent.hostId.slice(0, 8)}`,
        gpuTypeId: POD_CARD,
        gpuDisplayName: "RTX A4000",
        isGpuSimulated: false,
        location: "US",
      },
      dataCenterId: "US-KS-2",
      clusterIp: null,
      clusterIdx: null,
      clusterRole: null,
      uptimeSeconds: 5,
      latestTelemetry: null,
      runtime: {
        uptimeInSeconds: 5,
        ports: [
          { ip: "203.0.113.7", isIpPublic: true, privatePort: 22, publicPort: 20_000, type: "tcp" },
          { ip: "127.0.0.1", isIpPublic: false, privatePort: 8888, publicPort: 8888, type: "http" },
        ],
        gpus: [
          { id: "0", gpuUtilPercent: 75, memoryUtilPercent: 25 },
          { id: "1", gpuUtilPercent: null, memoryUtilPercent: null },
        ],
        container: { cpuPercent: 12.5, memoryPercent: 50 },
      },
    });
  });

  test("its list of ports has one that is not public in any case", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const { id } = await made("podFindAndDeployOnDemand", `imageName: "a:1", ${CARD}, ports: "10022/tcp"`);
    await host.follow();
    const { runtime } = await shown(id, "runtime { ports { privatePort isIpPublic } }");
    expect(runtime.ports).toEqual([
      { privatePort: 10_022, isIpPublic: true },
      { privatePort: expect.any(Number), isIpPublic: false },
    ]);
  });

  test("is stopped, resumed, edited and terminated, and then gone from all lists", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const { id } = await made("podFindAndDeployOnDemand", DEPLOYMENT);
    await host.follow();
    const stopped = await made(
      "podStop",
      `podId: "${id}"`,
      "id desiredStatus lastStatusChange runtime { uptimeInSeconds }",
    );
    expect(stopped).toEqual({
      ...{ id, desiredStatus: "EXITED", runtime: null },
      lastStatusChange: expect.stringMatching(/^Stopped at /),
    });
    const resumed = await made("podResume", `podId: "${id}", gpuCount: 1`, "desiredStatus gpuCount");
    expect(resumed).toEqual({ desiredStatus: "RUNNING", gpuCount: 1 });
    const edited = await made(
      "podEditJob",
      `podId: "${id}", imageName: "b:2", containerDiskInGb: 20, containerRegistryAuthId: "", ports: "22/tcp"`,
      "imageName containerDiskInGb ports env",
    );
    expect(edited).toEqual({ imageName: "b:2", containerDiskInGb: 20, ports: "22/tcp", env: ["A=1"] });
    expect((await client.send("{ myself { pods { id } } }")).data.myself.pods).toEqual([{ id }]);
    const ended = await client.send(`mutation { podTerminate(input: { podId: "${id}" }) }`);
    expect(ended.body).toEqual({ data: { podTerminate: null } });
    const { data } = await client.send(
      `{ pod(input: { podId: "${id}" }) { id } myself { pods { id } cluster(input: { id: "c" }) { id } } }`,
    );
    expect(data).toEqual({ pod: null, myself: { pods: [], cluster: null } });
  });

  test("gets other times to stop and to be terminated while it runs", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const { id } = await made("podFindAndDeployOnDemand", DEPLOYMENT);
    await host.follow();
    const [stopAfter, terminateAfter] = ["2999-01-01T00:00:00.000Z", "2999-01-02T00:00:00.000Z"];
    const times = "stopAfter terminateAfter version";
    const edit = async (input: string) => await made("podEditJob", `podId: "${id}", ${input}`, times);
    expect(await edit(`stopAfter: "${stopAfter}"`)).toEqual({ stopAfter, terminateAfter: null, version: 1 });
    expect(await edit(`stopAfter: "", terminateAfter: "${terminateAfter}"`)).toEqual({
      ...{ stopAfter: null, terminateAfter, version: 1 },
    });
    expect(await edit('name: "other"')).toMatchObject({ terminateAfter });
    await host.follow();
    expect(host.assignmentOf(id)?.revision).toBe(1);
    const past = await send("podEditJob", `podId: "${id}", stopAfter: "2001-01-01T00:00:00Z"`);
    expect(codeOf(past)).toBe("INVALID_INPUT");
    expect(past.errors[0].message).toMatch(issueAt("stopAfter"));
  });

  test("on simulated GPUs, which limit nothing, shows the least that it has", async ({ expect }) => {
    const simulated = POD_HOST.gpus.map((gpu) => ({ ...gpu, isSimulated: true }));
    const gpus = [...simulated, ...simulated].map((gpu, index) => ({ ...gpu, index }));
    await PodAgent.join(own, { gpus });
    const sizeOf = async (input: string) =>
      await made("podFindAndDeployOnDemand", input, "gpuCount vcpuCount memoryInGb");
    const [one, two] = [`imageName: "a:1", ${CARD}`, `imageName: "a:1", ${CARD}, gpuCount: 2`];
    expect(await sizeOf(two)).toEqual({ gpuCount: 2, vcpuCount: 4, memoryInGb: 16 });
    expect(await sizeOf(`${one}, minVcpuCount: 6, minMemoryInGb: 20`)).toMatchObject({
      ...{ vcpuCount: 6, memoryInGb: 20 },
    });
  });

  test("an interruptible one says so, and that it was preempted", async ({ expect }) => {
    const host = await PodAgent.join(own);
    const interruptible = await made("podRentInterruptable", `bidPerGpu: 0.2, ${DEPLOYMENT}`, "id podType");
    expect(interruptible.podType).toBe("INTERRUPTABLE");
    await host.follow();
    const reserved = await made("podFindAndDeployOnDemand", DEPLOYMENT, "id lastStatusChange");
    expect(await shown(interruptible.id, "desiredStatus lastStatusChange")).toEqual({
      desiredStatus: "EXITED",
      lastStatusChange: expect.stringMatching(/^Preempted/),
    });
    await host.follow();
    await host.follow();
    expect(host.assignmentOf(reserved.id)?.type).toBe("POD");
    const refused = await send("podBidResume", `podId: "${interruptible.id}", bidPerGpu: 0.3, gpuCount: 2`);
    expect(codeOf(refused)).toBe("NO_CAPACITY");
  });

  test("without GPUs it has the size of its instance, and may name a public template", async ({ expect }) => {
    await PodAgent.join(own);
    const pod = await made(
      "deployCpuPod",
      'name: "cpu", imageName: "a:1", cloudType: SECURE, instanceId: "cpu3c-2-4", templateId: "runpod-ubuntu"',
      "imageName gpuCount vcpuCount memoryInGb costPerHr containerDiskInGb templateId machine { gpuDisplayName }",
    );
    expect(pod).toEqual({
      ...{
        imageName: "a:1",
        gpuCount: 0,
        vcpuCount: 2,
        memoryInGb: 4,
        costPerHr: 0.002,
        containerDiskInGb: 10,
      },
      ...{ templateId: "runpod-ubuntu", machine: { gpuDisplayName: null } },
    });
    const smallest = await made("deployCpuPod", 'imageName: "a:1"', "vcpuCount");
    expect(smallest.vcpuCount).toBeGreaterThan(0);
    const forCpus = await made("podFindAndDeployOnDemand", 'imageName: "a:1", computeType: CPU', "gpuCount");
    expect(forCpus).toEqual({ gpuCount: 0 });
  });

  test("with GPUs it may name a public template, which gives its image", async ({ expect }) => {
    await PodAgent.join(own);
    const pod = await made(
      "podFindAndDeployOnDemand",
      `gpuTypeId: "${POD_CARD}", templateId: "runpod-torch-v21"`,
      "imageName ports gpuCount volumeMountPath",
    );
    expect(pod).toEqual({
      imageName: expect.stringMatching(/^runpod\/pytorch:/),
      ports: "8888/http,22/tcp",
      gpuCount: 1,
      volumeMountPath: "/workspace",
    });
  });

  test("cards are tried in order", async ({ expect }) => {
    await PodAgent.join(own);
    const list = `imageName: "a:1", gpuTypeIdList: ["NVIDIA L40S", "${POD_CARD}"]`;
    const pod = await made("podFindAndDeployOnDemand", list, "machine { gpuTypeId }");
    expect(pod.machine.gpuTypeId).toBe(POD_CARD);
  });

  test("terminating an unknown one is refused in the message and under the path that clients compare", async ({
    expect,
  }) => {
    const answer = await client.send('mutation { podTerminate(input: { podId: "p" }) }');
    expect(answer.body).toEqual({
      data: { podTerminate: null },
      errors: [
        {
          message: "pod not found to terminate",
          path: ["podTerminate"],
          extensions: { code: "POD_NOT_FOUND" },
        },
      ],
    });
  });

  test("changing an unknown one is refused as not found", async ({ expect }) => {
    const calls = {
      podStop: 'podId: "p"',
      podResume: 'podId: "p", gpuCount: 1',
      podBidResume: 'podId: "p", bidPerGpu: 0.2, gpuCount: 1',
      podEditJob:
        'podId: "p", imageName: "a:1", containerDiskInGb: 10, containerRegistryAuthId: "", volumeInGb: 0',
    };
    for (const [operation, input] of Object.entries(calls)) {
      const answer = await send(operation, input, "{ id desiredStatus }");
      expect([operation, codeOf(answer)]).toEqual([operation, "POD_NOT_FOUND"]);
      expect(answer.errors[0].message).toMatch(issueAt("podId", "'p'"));
      expect(codeOf(await send(operation, ""))).toBe("INVALID_INPUT");
    }
  });

  test("without capacity clients read what lets them try elsewhere, and the reason", async ({ expect }) => {
    const deployments = {
      podFindAndDeployOnDemand: DEPLOYMENT,
      podRentInterruptable: `bidPerGpu: 0.2, ${DEPLOYMENT}`,
      deployCpuPod: 'name: "pod", imageName: "a:1", instanceId: "cpu3c-2-4"',
      createCluster: `clusterName: "c", type: TRAINING, podCount: 2, gpuTypeId: "NVIDIA L4", gpuCountPerPod: 8,
        imageName: "a:1", ports: "22/tcp", startSsh: true, deployCost: 1.5`,
    };
    for (const [operation, input] of Object.entries(deployments)) {
      const answer = await send(operation, input);
      expect([operation, codeOf(answer)]).toEqual([operation, "NO_CAPACITY"]);
      expect(answer.errors[0].message).toMatch(
        /no longer any instances available.+insufficient capacity: ./i,
      );
    }
    expect((await client.send("{ myself { pods { id } } }")).data.myself.pods).toEqual([]);
  });

  test("volumeMounts names its network volume, as networkVolumeId and volumeMountPath do", async ({
    expect,
  }) => {
    await PodAgent.join(own);
    const { data } = await client.send(
      'mutation { createNetworkVolume(input: { name: "v", size: 10, dataCenterId: "US-KS-2" }) { id } }',
    );
    const { id } = data.createNetworkVolume;
    const mount = `volumeId: "${id}", volumeType: NETWORK_VOLUME`;
    const selection = "networkVolumeId volumeMountPath dataCenterId";
    const pods = await Promise.all([
      made("deployCpuPod", `imageName: "a:1", volumeMounts: [{ ${mount}, mountPath: "/data" }]`, selection),
      made(
        "podFindAndDeployOnDemand",
        `imageName: "a:1", ${CARD}, volumeMountPath: "/own", volumeMounts: [{ ${mount} }]`,
        selection,
      ),
      made("deployCpuPod", 'imageName: "a:1", volumeMounts: []', selection),
    ]);
    expect(pods).toEqual([
      { networkVolumeId: id, volumeMountPath: "/data", dataCenterId: "US-KS-2" },
      { networkVolumeId: id, volumeMountPath: "/own", dataCenterId: "US-KS-2" },
      { networkVolumeId: null, volumeMountPath: "", dataCenterId: "US-KS-2" },
    ]);
    const refused: [mounts: string, issue: Issue][] = [
      [`[{ ${mount} }, { ${mount} }]`, ["volumeMounts"]],
      ['[{ volumeId: "g", volumeType: OBJECT_STORE_VOLUME }]', ["volumeMounts[0].volumeType"]],
      [`[{ ${mount} }], networkVolumeId: "other"`, ["volumeMounts"]],
      [`[{ ${mount}, mountPath: "relative" }]`, ["volumeMountPath"]],
      [`[{ ${mount}, mountPath: "/proc" }]`, ["volumeMountPath"]],
      [`[{ ${mount}, mountPath: "/dev/shm" }]`, ["volumeMountPath"]],
    ];
    for (const [mounts, issue] of refused) {
      const answer = await send("deployCpuPod", `imageName: "a:1", volumeMounts: ${mounts}`);
      expect([mounts, codeOf(answer)]).toEqual([mounts, "INVALID_INPUT"]);
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
  });

  test("what could never run is refused by field", async ({ expect }) => {
    const gpu = `imageName: "a:1", ${CARD}`;
    const rejections: [operation: string, input: string, issue: Issue][] = [
      ["podFindAndDeployOnDemand", CARD, ["imageName"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1"', ["gpuTypeId"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1", gpuTypeIdList: []', ["gpuTypeId"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1", gpuTypeId: "L4"', ["gpuTypeId", "'L4'"]],
      ["podFindAndDeployOnDemand", `imageName: "NO SUCH", ${CARD}`, ["imageName"]],
      ["podFindAndDeployOnDemand", `${gpu}, gpuCount: 0`, ["gpuCount"]],
      ["podFindAndDeployOnDemand", `${gpu}, gpuCount: -1`, ["gpuCount"]],
      ["podFindAndDeployOnDemand", `${gpu}, instanceIds: ["cpu3c-2-4"]`, ["instanceIds"]],
      ["podFindAndDeployOnDemand", `${gpu}, dataCenterId: "moon"`, ["dataCenterId"]],
      ["podFindAndDeployOnDemand", `${gpu}, dataCenterId: "EU-RO-1", countryCode: "US"`, ["countryCode"]],
      ["podFindAndDeployOnDemand", `${gpu}, countryCode: "ZZ"`, ["countryCode"]],
      ["podFindAndDeployOnDemand", `${gpu}, env: [{ key: "A B", value: "" }]`, ["env[0].key"]],
      ["podFindAndDeployOnDemand", `${gpu}, allowedCudaVersions: ["9"]`, ["allowedCudaVersions[0]"]],
      ["podFindAndDeployOnDemand", `${gpu}, dockerArgs: "sh -c 'open"`, ["dockerArgs"]],
      ["podFindAndDeployOnDemand", `${gpu}, stopAfter: "2001-01-01T00:00:00Z"`, ["stopAfter"]],
      ["podFindAndDeployOnDemand", `${gpu}, terminateAfter: "soon"`, ["terminateAfter"]],
      ["podFindAndDeployOnDemand", `${gpu}, volumeMountPath: "/"`, ["volumeMountPath"]],
      ["podFindAndDeployOnDemand", `${gpu}, volumeMountPath: "/a/../.."`, ["volumeMountPath"]],
      ["podFindAndDeployOnDemand", `${gpu}, volumeMountPath: "/."`, ["volumeMountPath"]],
      ["podFindAndDeployOnDemand", `${gpu}, ports: "66000/tcp"`, ["ports", "'66000/tcp'"]],
      ["podFindAndDeployOnDemand", `${gpu}, ports: "70000/http"`, ["ports"]],
      ["podRentInterruptable", `${gpu}, ports: "80/udp"`, ["ports", "'80/udp'"]],
      ["podRentInterruptable", `${gpu}, bidPerGpu: -1`, ["bidPerGpu"]],
      ["deployCpuPod", 'imageName: "a:1", instanceId: "cpu3c-2-8"', ["instanceId", 2, "cpu3c", 4]],
      ["createCluster", 'imageName: "a:1", gpuTypeId: "NVIDIA L4", gpuCountPerPod: 1', ["podCount"]],
    ];
    for (const [operation, input, issue] of rejections) {
      const answer = await send(operation, input);
      expect([operation, input, codeOf(answer)]).toEqual([operation, input, "INVALID_INPUT"]);
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
    expect(codeOf(await send("podFindAndDeployOnDemand", `${gpu}, templateId: "t"`))).toBe(
      "TEMPLATE_NOT_FOUND",
    );
  });

  test("a cluster is made and deleted with its pods", async ({ expect }) => {
    await PodAgent.join(own);
    const input = `clusterName: "c", type: TRAINING, podCount: 2, gpuTypeId: "${POD_CARD}", gpuCountPerPod: 1,
      imageName: "a:1", ports: "22/tcp", startSsh: true, deployCost: 1.5`;
    const cluster = await made(
      "createCluster",
      input,
      "id name type podCount gpuCountPerPod pods { clusterIp clusterIdx }",
    );
    expect(cluster).toEqual({
      ...{ id: cluster.id, name: "c", type: "TRAINING", podCount: 2, gpuCountPerPod: 1 },
      pods: [
        { clusterIp: null, clusterIdx: 0 },
        { clusterIp: null, clusterIdx: 1 },
      ],
    });
    const shownCluster = `{ myself { cluster(input: { id: "${cluster.id}" }) { id } pods { id clusterId } } }`;
    const { myself } = (await client.send(shownCluster)).data;
    expect(myself.cluster).toEqual({ id: cluster.id });
    expect(myself.pods).toMatchObject([{ clusterId: cluster.id }, { clusterId: cluster.id }]);
    const stranger = await freshClient();
    const reach = `mutation { deleteCluster(input: { id: "${cluster.id}" }) }`;
    expect(codeOf(await stranger.send(reach))).toBe("Cluster not found");
    expect((await stranger.send(shownCluster)).data.myself).toEqual({ cluster: null, pods: [] });
    expect((await client.send(reach)).data).toEqual({ deleteCluster: true });
    expect((await client.send(shownCluster)).data.myself).toEqual({ cluster: null, pods: [] });
  });

  test("deleting an unknown cluster is refused under the code that clients compare", async ({ expect }) => {
    const answer = await client.send('mutation { deleteCluster(input: { id: "c" }) }');
    expect(codeOf(answer)).toBe("Cluster not found");
  });
});
