import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { SyncRequest, WorkerState } from "../../src/contract/agent/agent.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient, type Client } from "./graphql-client.ts";
import { passTime } from "./object.ts";
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
      crash_looping: ["RESTARTING", "Restarting after it exited: in message"],
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

describe("pods are not offered yet", () => {
  const send = async (client: Client, operation: string, input: string, selection = "{ id }") =>
    await client.send(`mutation { ${operation}(input: { ${input} }) ${selection} }`);

  test("nobody has any", async ({ expect }) => {
    const client = await freshClient();
    const { data } = await client.send(
      `{ pod(input: { podId: "p" }) { ${POD} } myself { pods { ${POD} } cluster(input: { id: "c" }) { id } } }`,
    );
    expect(data).toEqual({ pod: null, myself: { pods: [], cluster: null } });
  });

  test("terminating an unknown pod is refused in the message and under the path that clients compare", async ({
    expect,
  }) => {
    const client = await freshClient();
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

  test("changing an unknown pod is refused as not found", async ({ expect }) => {
    const client = await freshClient();
    const calls = {
      podStop: 'podId: "p"',
      podResume: 'podId: "p", gpuCount: 1',
      podBidResume: 'podId: "p", bidPerGpu: 0.2, gpuCount: 1',
      podEditJob:
        'podId: "p", imageName: "a:1", containerDiskInGb: 10, containerRegistryAuthId: "", volumeInGb: 0',
    };
    for (const [operation, input] of Object.entries(calls)) {
      const answer = await send(client, operation, input, "{ id desiredStatus }");
      expect([operation, codeOf(answer)]).toEqual([operation, "POD_NOT_FOUND"]);
      expect(answer.errors[0].message).toMatch(issueAt("podId", "'p'"));
      expect(codeOf(await send(client, operation, ""))).toBe("INVALID_INPUT");
    }
  });

  test("a deployment as clients send it is refused for want of room, so that they try elsewhere", async ({
    expect,
  }) => {
    const client = await freshClient();
    const gpu = `name: "pod", imageName: "a:1", cloudType: ALL, startSsh: true, gpuTypeId: "NVIDIA L4",
      supportPublicIp: true, gpuCount: 1, volumeInGb: 0, minVcpuCount: 1, minMemoryInGb: 1, dataCenterId: null,
      dockerArgs: "", containerDiskInGb: 10, ports: "22/tcp,8888/http,", volumeMountPath: "/runpod-volume",
      env: [{ key: "A", value: "1" }], networkVolumeId: "", allowedCudaVersions: ["12.8"]`;
    const deployments = {
      podFindAndDeployOnDemand: gpu,
      podRentInterruptable: `bidPerGpu: 0.2, ${gpu}`,
      deployCpuPod:
        'name: "pod", imageName: "a:1", cloudType: SECURE, instanceId: "cpu3c-2-4", templateId: "runpod-ubuntu"',
      createCluster: `clusterName: "c", type: TRAINING, podCount: 2, gpuTypeId: "NVIDIA L4", gpuCountPerPod: 8,
        imageName: "a:1", ports: "22/tcp", startSsh: true, deployCost: 1.5`,
    };
    for (const [operation, input] of Object.entries(deployments)) {
      const answer = await send(client, operation, input);
      expect([operation, codeOf(answer)]).toEqual([operation, "NO_CAPACITY"]);
      // What tools look for before they try another card or place.
      expect(answer.errors[0].message).toMatch(/no longer any instances available.+insufficient capacity/i);
    }
  });

  test("a deployment that could never run is refused by field", async ({ expect }) => {
    const client = await freshClient();
    const rejections: [operation: string, input: string, issue: Issue][] = [
      ["podFindAndDeployOnDemand", 'gpuTypeId: "NVIDIA L4"', ["imageName"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1"', ["gpuTypeId"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1", gpuTypeIdList: []', ["gpuTypeId"]],
      ["podFindAndDeployOnDemand", 'imageName: "a:1", gpuTypeId: "L4"', ["gpuTypeId", "'L4'"]],
      [
        "podRentInterruptable",
        'imageName: "a:1", gpuTypeId: "NVIDIA L4", ports: "80/udp"',
        ["ports", "'80/udp'"],
      ],
      ["deployCpuPod", 'imageName: "a:1", instanceId: "cpu3c-2-8"', ["instanceId", 2, "cpu3c", 4]],
      ["createCluster", 'imageName: "a:1", gpuTypeId: "NVIDIA L4", gpuCountPerPod: 1', ["podCount"]],
    ];
    for (const [operation, input, issue] of rejections) {
      const answer = await send(client, operation, input);
      expect([operation, input, codeOf(answer)]).toEqual([operation, input, "INVALID_INPUT"]);
      expect(answer.errors[0].message).toMatch(issueAt(...issue));
    }
  });

  test("deleting an unknown cluster is refused under the code that clients compare", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send('mutation { deleteCluster(input: { id: "c" }) }');
    expect(codeOf(answer)).toBe("Cluster not found");
  });
});
