/** The life of pods, from the calls of clients to the assignments of hosts and back. */
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, test, vi } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { pod } from "../../src/db/schema.ts";
import { listOpenUsage, saveWorkerTotals } from "../../src/db/usage.ts";
import { podKey } from "../../src/auth/derived-keys.ts";
import type { Env } from "../../src/env.ts";
import { openContext } from "../../src/management/context.ts";
import {
  POD_CHANGE_MIN_AGE_MS,
  POD_HALF_MIN_AGE_MS,
  settlePodRows,
  terminateUnknownPods,
} from "../../src/management/pods/pod-maintenance.ts";
import {
  createCluster,
  deleteCluster,
  listOwnClusters,
  requireCluster,
} from "../../src/management/pods/clusters.ts";
import { changePod, createPod, restartPod, terminatePod } from "../../src/management/pods/pods.ts";
import type { PodChangeCall } from "../../src/fleet/messages.ts";
import { fleetObject } from "../../src/management/objects.ts";
import { EdgeClient } from "./edge-client.ts";
import { auditedOperations, restClient, type RestClient } from "./rest-client.ts";
import { POD_CARD, POD_HOST, PodAgent } from "./pod-agent.ts";

const db = openDatabase(env.DB);

let send: RestClient;
let client: EdgeClient;

beforeEach(async () => {
  send = await restClient();
  client = new EdgeClient(send.key);
});

const GPU_POD = {
  imageName: "acme/app:1",
  gpuTypeIds: [POD_CARD],
  gpuCount: 1,
  ports: ["22/tcp", "8888/http"],
};

async function created(fields: object = {}) {
  const { status, body } = await send("POST", "/pods", { ...GPU_POD, ...fields });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}

test("REST v1 asks for 2 vCPUs and 8 GB for each GPU, unless the body says otherwise", async ({ expect }) => {
  await PodAgent.join(client, { cpuCount: 2, memoryMb: 12_000 });
  const create = async (fields: object) =>
    await send("POST", "/pods", { ...GPU_POD, gpuCount: 2, ...fields });
  expect(await create({})).toMatchObject({ status: 503, body: { code: "no_capacity" } });
  expect(await create({ minVCPUPerGPU: 1 })).toMatchObject({ status: 503, body: { code: "no_capacity" } });
  expect(await create({ minVCPUPerGPU: 1, minRAMPerGPU: 0 })).toMatchObject({
    ...{ status: 201, body: { vcpuCount: 2, memoryInGb: 12 } },
  });
});

test("a pod is created, runs, is stopped, started again and terminated", async ({ expect }) => {
  const host = await PodAgent.join(client);
  const { id, ...shown } = await created({ name: "train", env: { A: "1" }, volumeInGb: 30 });
  expect(shown).toMatchObject({
    desiredStatus: "RUNNING",
    name: "train",
    image: "acme/app:1",
    env: { A: "1" },
  });
  expect(shown.runtime).toBeUndefined();

  await host.follow();
  const assignment = host.assignmentOf(id);
  expect(assignment).toMatchObject({
    ...{
      workerId: id,
      endpointId: id,
      type: "POD",
      revision: 1,
      imageName: "acme/app:1",
      gpuIndexes: [expect.any(Number)],
    },
    pod: {
      ...{ volumeInGb: 30, volumeMountPath: "/workspace" },
      ports: [
        { port: 22, protocol: "tcp" },
        { port: 8888, protocol: "http" },
      ],
    },
  });
  expect(assignment?.env).toMatchObject({ A: "1" });
  expect(host.podVolumes).toEqual([id]);

  const running = (await send("GET", `/pods/${id}`)).body;
  expect(running).toMatchObject({
    ...{ desiredStatus: "RUNNING", publicIp: "203.0.113.7", portMappings: { "22": 20_000 } },
    ...{ machineId: host.agent.hostId, gpuCount: 1, costPerHr: 0.016, uptimeSeconds: 5 },
    machine: { gpuTypeId: POD_CARD, location: "US", dataCenterId: "US-KS-2" },
    gpu: { id: POD_CARD, count: 1 },
    runtime: {
      container: { cpuPercent: 12.5 },
      gpus: [{ id: "0", gpuUtilPercent: 75, memoryUtilPercent: 25 }],
      ports: { "22/tcp": { ip: "203.0.113.7", privatePort: 22, publicPort: 20_000 } },
    },
  });

  const stopped = (await send("POST", `/pods/${id}/stop`)).body;
  expect(stopped).toMatchObject({ desiredStatus: "EXITED", portMappings: {}, volumeInGb: 30 });
  expect(stopped.runtime).toBeUndefined();
  await host.follow();
  expect([host.assignmentOf(id), host.podVolumes]).toEqual([undefined, [id]]);

  expect((await send("POST", `/pods/${id}/start`)).body).toMatchObject({ desiredStatus: "RUNNING" });
  await host.follow();
  expect(host.assignmentOf(id)?.revision).toBe(2);

  expect(await send("DELETE", `/pods/${id}`)).toMatchObject({ status: 204 });
  await host.follow();
  expect([host.assignmentOf(id), host.podVolumes]).toEqual([undefined, []]);
  expect(await send("GET", `/pods/${id}`)).toMatchObject({ status: 404, body: { code: "pod_not_found" } });
  expect((await send("GET", "/pods")).body).toEqual([]);
  expect(await send("DELETE", `/pods/${id}`)).toMatchObject({ status: 404 });
  expect(await auditedOperations(send.accountId)).toEqual(
    expect.arrayContaining([
      "POST /v1/pods (pod)",
      "POST /v1/pods/{podId}/stop (pod)",
      "POST /v1/pods/{podId}/start (pod)",
      "DELETE /v1/pods/{podId} (pod)",
    ]),
  );
});

describe("what a container is made of", () => {
  test("the account's keys, and the pod's own in their place", async ({ expect }) => {
    const host = await PodAgent.join(client);
    await client.graphql('mutation { updateUserSettings(input: { pubKey: "ssh-ed25519 AAA me" }) { id } }');
    const withSsh = await created({ startSsh: true });
    const own = await created({ startSsh: true, env: { SSH_PUBLIC_KEY: "ssh-ed25519 BBB other" } });
    await host.follow();
    expect(host.assignmentOf(withSsh.id)?.env["PUBLIC_KEY"]).toBe("ssh-ed25519 AAA me");
    expect(host.assignmentOf(own.id)?.env["PUBLIC_KEY"]).toBe("ssh-ed25519 BBB other");
    expect(withSsh.env).toEqual({});
  });

  test("no keys without startSsh, and a password with startJupyter", async ({ expect }) => {
    const host = await PodAgent.join(client);
    const plain = await created();
    const jupyter = await created({ startJupyter: true });
    await host.follow();
    expect(host.assignmentOf(plain.id)?.env).not.toHaveProperty("PUBLIC_KEY");
    expect(jupyter.env["JUPYTER_PASSWORD"]).toMatch(/^[0-9a-f]{32}$/);
    expect(host.assignmentOf(jupyter.id)?.env["JUPYTER_PASSWORD"]).toBe(jupyter.env["JUPYTER_PASSWORD"]);
  });

  test("secrets are filled in and masked, and one that is missing is the problem", async ({ expect }) => {
    const host = await PodAgent.join(client);
    await client.graphql('mutation { secretCreate(input: { name: "TOKEN", value: "hunter2" }) { id } }');
    const { id } = await created({ env: { T: "{{ SECRET_TOKEN }}" } });
    const missing = await created({ env: { T: "{{ SECRET_ABSENT }}" } });
    await host.follow();
    expect(host.assignmentOf(id)?.env["T"]).toBe("hunter2");
    expect(host.assignmentOf(id)?.masked).toContain("hunter2");
    expect(host.assignmentOf(missing.id)?.problem).toContain("ABSENT");
    expect(missing.warnings).toMatchObject([{ code: "secret_not_found" }]);
  });

  test("while it cannot be started there is no runtime, for which clients wait", async ({ expect }) => {
    const host = await PodAgent.join(client);
    const { id } = await created({ env: { T: "{{ SECRET_ABSENT }}" } });
    host.state = "unhealthy";
    await host.follow();
    const { body } = await send("GET", `/pods/${id}`);
    expect(body).toMatchObject({
      desiredStatus: "RUNNING",
      publicIp: null,
      portMappings: {},
      uptimeSeconds: 0,
    });
    expect([body.runtime, body.lastStartedAt]).toEqual([undefined, undefined]);
  });

  test("what is omitted comes from the template, and variables of both", async ({ expect }) => {
    await PodAgent.join(client);
    const templateId = await send.template({
      ...{ isServerless: false, imageName: "acme/base:2", dockerStartCmd: ["run"], ports: ["9000/http"] },
      ...{ containerDiskInGb: 7, volumeInGb: 11, volumeMountPath: "/data", env: { A: "1", B: "1" } },
    });
    const made = await created({ templateId, imageName: undefined, ports: undefined, env: { B: "2" } });
    expect(made).toMatchObject({
      ...{ image: "acme/base:2", dockerStartCmd: ["run"], ports: ["9000/http"], templateId },
      ...{ containerDiskInGb: 7, volumeInGb: 11, volumeMountPath: "/data", env: { A: "1", B: "2" } },
    });
    const { name } = (await send("GET", `/templates/${templateId}`)).body;
    expect(await send("DELETE", `/templates/${templateId}`)).toMatchObject({
      body: { code: "template_in_use" },
    });
    await send("DELETE", `/pods/${made.id}`);
    await client.graphql(`mutation { deleteTemplate(templateName: "${name}") }`);
    const serverless = await send.template();
    expect(await send("POST", "/pods", { ...GPU_POD, templateId: serverless })).toMatchObject({
      status: 400,
    });
  });

  test("a start command of nested quotes survives", async ({ expect }) => {
    const host = await PodAgent.join(client);
    const command = ["bash", "-c", `echo '{"a": "b c"}' | base64 --decode > "x y"; sleep 1`];
    const { id, dockerStartCmd } = await created({ dockerStartCmd: command });
    expect(dockerStartCmd).toEqual(command);
    const entry = await created({ dockerEntrypoint: ["/bin/sh"], dockerStartCmd: ["-c", command[2]] });
    expect(entry).toMatchObject({ dockerEntrypoint: ["/bin/sh"], dockerStartCmd: ["-c", command[2]] });
    await host.follow();
    expect(host.assignmentOf(id)?.dockerArgs).not.toBe("");
  });
});

describe("a change in REST v1", () => {
  test("accepts what was read, whatever was changed meanwhile", async ({ expect }) => {
    await PodAgent.join(client);
    const gpu = await created();
    const cpu = await created({ computeType: "CPU", cpuFlavorIds: ["cpu3c"], gpuTypeIds: [], gpuCount: 0 });
    for (const { id } of [gpu, cpu]) {
      const { body: read } = await send("GET", `/pods/${id}`);
      await send("POST", `/pods/${id}/stop`);
      const changed = await send("PATCH", `/pods/${id}`, { ...read, name: "renamed" });
      expect(changed).toMatchObject({ status: 200, body: { name: "renamed", desiredStatus: "EXITED" } });
    }
    const blank = { gpuCount: 0, templateId: "", networkVolumeId: null, computeType: null };
    expect(await send("PATCH", `/pods/${gpu.id}`, blank)).toMatchObject({ status: 200 });
  });

  test("refuses other values of what cannot be changed, by field", async ({ expect }) => {
    await PodAgent.join(client);
    const { id } = await created({ interruptible: true });
    const others = {
      ...{ gpuCount: 2, interruptible: false, templateId: "t", networkVolumeId: "v", computeType: "CPU" },
      ...{ gpuTypeId: "NVIDIA L4", image: "acme/app:2", cpuFlavorId: "cpu5c" },
    };
    for (const [field, value] of Object.entries({ ...others, "gpu.count": { count: 2 } })) {
      const { status, body } = await send("PATCH", `/pods/${id}`, { [field.split(".")[0] ?? ""]: value });
      expect([field, status, body.code]).toEqual([field, 400, "invalid_input"]);
      expect(body.error).toMatch(new RegExp(`^${field}: `));
    }
  });
});

/** Of the account, with another Fleet object. */
function contextWith(fleet: object) {
  const { accountId } = send;
  const principal = { kind: "principal", accountId, apiKeyId: "k", name: "k" } as never;
  const bindings = { ...env, FLEET: { getByName: () => fleet } } as unknown as Env;
  return openContext(bindings, { principal, now: Date.now(), operation: "test", origin: "http://edge" });
}

describe("nothing is half made", () => {
  test("without capacity there is no pod, and clients read the text that they know", async ({ expect }) => {
    const { status, body } = await send("POST", "/pods", GPU_POD);
    expect([status, body.code]).toEqual([503, "no_capacity"]);
    expect(body.error).toMatch(/no longer any instances available.+please refresh.+insufficient capacity: /i);
    expect(await db.select().from(pod).where(eq(pod.accountId, send.accountId))).toEqual([]);
    expect(await fleetObject(env, send.accountId).podsOf(send.accountId)).toEqual([]);
    expect(await auditedOperations(send.accountId)).toEqual([
      "POST /v1/pods (pod)",
      "POST /v1/pods: taken back (pod)",
    ]);
  });

  test("nor when the fleet cannot be reached, and what it placed nevertheless is terminated", async ({
    expect,
  }) => {
    using _silent = vi.spyOn(console, "error").mockImplementation(() => {});
    await PodAgent.join(client);
    const fleet = fleetObject(env, send.accountId);
    const broken = {
      createPod: async (config: Parameters<typeof fleet.createPod>[0]) => {
        await fleetObject(env, send.accountId).createPod(config);
        throw new Error("the connection broke");
      },
      changePod: () => Promise.reject(new Error("and again")),
    };
    const { accountId } = send;
    const context = contextWith(broken);
    const creation = { imageName: "a:1", gpuTypeIds: [POD_CARD] };
    await expect(createPod(context, creation)).rejects.toMatchObject({ code: "unavailable" });
    expect((await send("GET", "/pods")).body).toEqual([]);
    expect(await fleet.podsOf(accountId)).toHaveLength(1);

    await terminateUnknownPods({ env, db });
    expect(await fleetObject(env, send.accountId).podsOf(accountId)).toEqual([]);
  });

  describe("when the call to the fleet breaks off", () => {
    /** A fleet that does what it is told, and fails to say so as often as `failures` says. */
    const breaking = (failures: number) => ({
      podsOf: (accountId: string, ids: readonly string[]) =>
        fleetObject(env, send.accountId).podsOf(accountId, ids),
      changePod: async (call: PodChangeCall) => {
        const outcome = await fleetObject(env, send.accountId).changePod(call);
        if (failures-- > 0) throw new Error("the connection broke");
        return outcome;
      },
    });
    beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));

    test("once, a change is made once", async ({ expect }) => {
      const host = await PodAgent.join(client);
      const { id } = await created();
      await restartPod(contextWith(breaking(1)), id);
      await host.follow();
      expect(host.assignmentOf(id)).toMatchObject({ revision: 2, imageName: "acme/app:1" });
    });

    test("each time, the pod is as it was, and the next change is made", async ({ expect }) => {
      const host = await PodAgent.join(client);
      const { id } = await created();
      const change = changePod(contextWith(breaking(2)), id, { imageName: "acme/app:2" });
      await expect(change).rejects.toMatchObject({ code: "unavailable" });
      await host.follow();
      const followed = host.assignmentOf(id)?.revision;
      await send("PATCH", `/pods/${id}`, { imageName: "acme/app:3" });
      await host.follow();
      expect(host.assignmentOf(id)).toMatchObject({ imageName: "acme/app:3" });
      expect(host.assignmentOf(id)?.revision).toBeGreaterThan(followed ?? 0); // or its container would stay
    });

    test("and there is no next change, the fleet follows later", async ({ expect }) => {
      const host = await PodAgent.join(client);
      const { id } = await created();
      const change = changePod(contextWith(breaking(2)), id, {
        containerDiskInGb: 30,
        imageName: "acme/app:2",
      });
      await expect(change).rejects.toMatchObject({ code: "unavailable" });
      await host.follow();
      const followed = host.assignmentOf(id)?.revision;
      await settlePodRows({ env, db }, Date.now());
      await host.follow();
      expect(host.assignmentOf(id)?.revision).toBe(followed);

      const later = Date.now() + POD_CHANGE_MIN_AGE_MS + 1_000;
      expect(await settlePodRows({ env, db }, later)).toBe(1);
      await host.follow();
      expect(host.assignmentOf(id)).toMatchObject({ imageName: "acme/app:1", containerDiskInGb: 50 });
      expect(host.assignmentOf(id)?.revision).toBeGreaterThan(followed ?? 0);
      expect(await settlePodRows({ env, db }, later)).toBe(0);
    });

    test("and no place fits the change, it is taken back", async ({ expect }) => {
      const host = await PodAgent.join(client);
      const { id } = await created();
      // What a call leaves behind that ends between D1 and the fleet.
      const place = { gpuCount: 8, networkVolumeId: "far", locations: ["EU-RO-1"] };
      const values = { ...place, imageName: "acme/app:2", version: 2, rowVersion: 2 };
      await db.update(pod).set(values).where(eq(pod.id, id));
      const later = Date.now() + POD_CHANGE_MIN_AGE_MS + 1_000;
      expect(await settlePodRows({ env, db }, later)).toBe(1);
      expect((await send("GET", `/pods/${id}`)).body).toMatchObject({
        image: "acme/app:2",
        gpu: { count: 1 },
      });
      const [row] = await db.select().from(pod).where(eq(pod.id, id));
      expect(row).toMatchObject({ networkVolumeId: null, locations: [] });
      await host.follow();
      expect(host.assignmentOf(id)).toMatchObject({ imageName: "acme/app:2", gpuIndexes: [0] });
      expect(await settlePodRows({ env, db }, later)).toBe(0);
    });
  });

  test("a row whose pod is gone is shown to nobody and removed", async ({ expect }) => {
    await PodAgent.join(client);
    const { id } = await created();
    const call = { podId: id, accountId: send.accountId, change: { kind: "terminate" } } as const;
    await fleetObject(env, send.accountId).changePod(call);
    expect(await send("GET", `/pods/${id}`)).toMatchObject({ status: 404 });
    expect((await send("GET", "/pods")).body).toEqual([]);
    const rows = () => db.select().from(pod).where(eq(pod.id, id));
    await settlePodRows({ env, db }, Date.now());
    expect(await rows()).toHaveLength(1);
    await settlePodRows({ env, db }, Date.now() + POD_HALF_MIN_AGE_MS + 60_000);
    expect(await rows()).toEqual([]);
  });

  test("an edit that fits nowhere leaves the pod as it was", async ({ expect }) => {
    await PodAgent.join(client);
    const { id } = await created({ volumeInGb: 10 });
    const refused = await send("PATCH", `/pods/${id}`, {
      containerDiskInGb: 100_000,
      imageName: "acme/app:2",
    });
    expect(refused).toMatchObject({ status: 503, body: { code: "no_capacity" } });
    expect((await send("GET", `/pods/${id}`)).body).toMatchObject({
      image: "acme/app:1",
      desiredStatus: "RUNNING",
    });
  });
});

describe("changes", () => {
  test("replace the container where it would be another one, and only there", async ({ expect }) => {
    const host = await PodAgent.join(client);
    const { id } = await created();
    await send("PUT", `/pods/${id}`, { name: "renamed", locked: true });
    await host.follow();
    expect(host.assignmentOf(id)?.revision).toBe(1);
    expect(await send("POST", `/pods/${id}/stop`)).toMatchObject({
      status: 400,
      body: { code: "pod_locked" },
    });
    expect(await send("POST", `/pods/${id}/reset`)).toMatchObject({ status: 400 });

    const edited = await send("POST", `/pods/${id}/update`, { imageName: "acme/app:2", locked: false });
    expect(edited.body).toMatchObject({ name: "renamed", image: "acme/app:2" });
    await host.follow();
    expect(host.assignmentOf(id)).toMatchObject({ revision: 2, imageName: "acme/app:2" });
    await send("POST", `/pods/${id}/restart`);
    await send("POST", `/pods/${id}/reset`);
    await host.follow();
    expect(host.assignmentOf(id)).toMatchObject({ revision: 4, imageName: "acme/app:2" });
    await send("POST", `/pods/${id}/start`);
    await host.follow();
    expect(host.assignmentOf(id)?.revision).toBe(4);
  });

  test("of settings that are only compared, or ignored, may be nested deeply", async ({ expect }) => {
    await PodAgent.join(client);
    const { id } = await created();
    const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    for (const [body, status] of [
      [`{"gpuCount":${nested}}`, 400],
      [`{"globalNetworking":${nested}}`, 200],
    ] as const) {
      const answer = await exports.default.fetch(`http://edge/v1/pods/${id}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${send.key}`, "content-type": "application/json" },
        body,
      });
      expect(answer.status).toBe(status);
    }
  });

  test("lists are filtered", async ({ expect }) => {
    await PodAgent.join(client);
    const { id } = await created({ name: "one" });
    const cpu = await send("POST", "/pods", {
      imageName: "a:1",
      computeType: "CPU",
      cpuFlavorIds: ["cpu3c"],
      name: "two",
    });
    expect(cpu.body).toMatchObject({ gpuCount: 0, vcpuCount: 2, memoryInGb: 4, cpuFlavorId: "cpu3c" });
    await send("POST", `/pods/${id}/stop`);
    const listed = async (query: string) =>
      (await send("GET", `/pods?${query}`)).body.map(({ name }: { name: string }) => name);
    expect(await listed("")).toEqual(["one", "two"]);
    expect(await listed("computeType=CPU")).toEqual(["two"]);
    expect(await listed("desiredStatus=EXITED")).toEqual(["one"]);
    expect(await listed("name=two&dataCenterId=US-KS-2")).toEqual(["two"]);
    expect(await listed("endpointId=x")).toEqual([]);
    expect(await listed(`gpuTypeId=NVIDIA%20L4&gpuTypeId=${encodeURIComponent(POD_CARD)}`)).toEqual(["one"]);
    expect(await listed("dataCenterId=EU-RO-1&dataCenterId=US-KS-2")).toEqual(["one", "two"]);
    expect(await listed("cpuFlavorId=cpu5c&cpuFlavorId=cpu3c")).toEqual(["two"]);
    expect(await listed("name=&desiredStatus=&computeType=&gpuTypeId=")).toEqual(["one", "two"]);
    expect(await send("GET", "/pods?desiredStatus=UP")).toMatchObject({ status: 400 });
  });
});

test("workers of endpoints are listed as pods on request, and filtered by their endpoint", async ({
  expect,
}) => {
  const host = await PodAgent.join(client);
  const { id } = await created({ name: "own" });
  const templateId = await send.template();
  const { id: endpointId } = (
    await send("POST", "/endpoints", { templateId, gpuTypeIds: [POD_CARD], workersMin: 1 })
  ).body;
  await host.follow();
  const listed = async (query: string) => (await send("GET", `/pods?${query}`)).body;
  expect(await listed("")).toMatchObject([{ id }]);
  expect(await listed("includeWorkers=true")).toMatchObject([{ id }, { endpointId, gpu: { id: POD_CARD } }]);
  expect(await listed(`includeWorkers=true&endpointId=${endpointId}`)).toMatchObject([{ endpointId }]);
  expect(await listed("includeWorkers=true&computeType=GPU")).toHaveLength(2);
});

test("a card that no host has is out of capacity, whichever card of the catalog it is", async ({
  expect,
}) => {
  await PodAgent.join(client);
  for (const card of ["NVIDIA GeForce RTX 3070", "AMD Instinct MI300X OAM", "Tesla V100-SXM2-16GB"]) {
    expect(await send("POST", "/pods", { ...GPU_POD, gpuTypeIds: [card] })).toMatchObject({
      body: { code: "no_capacity" },
    });
  }
  expect(await created({ gpuTypeIds: ["NVIDIA GeForce RTX 3070", POD_CARD] })).toMatchObject({
    gpuTypeId: POD_CARD,
  });
});

test("null stands for what is not set", async ({ expect }) => {
  await PodAgent.join(client);
  const blank = ["name", "dataCenterIds", "countryCodes", "cpuFlavorIds", "templateId", "env", "volumeInGb"];
  const fields = Object.fromEntries(blank.map((name) => [name, null]));
  expect(await created(fields)).toMatchObject({ name: "my pod", env: {}, volumeInGb: 20 });
});

describe("network volumes and credentials", () => {
  test("a volume decides where its pod runs, and stays while the pod uses it", async ({ expect }) => {
    await PodAgent.join(client);
    const volume = async (dataCenterId: string): Promise<string> =>
      (await send("POST", "/networkvolumes", { name: "v", size: 10, dataCenterId })).body.id;
    const here = await volume("US-KS-2");
    const there = await volume("EU-RO-1");
    expect(await send("POST", "/pods", { ...GPU_POD, networkVolumeId: there })).toMatchObject({
      body: { code: "no_capacity" },
    });
    const elsewhere = { ...GPU_POD, networkVolumeId: here, dataCenterIds: ["EU-RO-1"] };
    expect(await send("POST", "/pods", elsewhere)).toMatchObject({
      status: 400,
      body: { code: "invalid_input" },
    });
    expect(await send("POST", "/pods", { ...GPU_POD, networkVolumeId: "none" })).toMatchObject({
      status: 404,
    });
    const { id } = await created({ networkVolumeId: here });
    const shown = (await send("GET", `/pods/${id}?includeNetworkVolume=true`)).body;
    expect(shown.networkVolume).toMatchObject({ id: here, dataCenterId: "US-KS-2" });
    expect(await send("DELETE", `/networkvolumes/${here}`)).toMatchObject({
      body: { code: "network_volume_in_use" },
    });
    await send("DELETE", `/pods/${id}`);
    expect(await send("DELETE", `/networkvolumes/${here}`)).toMatchObject({ status: 204 });
  });

  test("a credential stays while a pod uses it", async ({ expect }) => {
    const host = await PodAgent.join(client);
    const login = { name: "hub", username: "me", password: "hunter2" };
    const { id: auth } = (await send("POST", "/containerregistryauth", login)).body;
    const { id } = await created({ containerRegistryAuthId: auth });
    await host.follow();
    expect(host.assignmentOf(id)?.registryAuth).toMatchObject({ username: "me", password: "hunter2" });
    expect(await send("DELETE", `/containerregistryauth/${auth}`)).toMatchObject({
      body: { code: "registry_auth_in_use" },
    });
    await send("DELETE", `/pods/${id}`);
    expect(await send("DELETE", `/containerregistryauth/${auth}`)).toMatchObject({ status: 204 });
    expect(await send("POST", "/pods", { ...GPU_POD, containerRegistryAuthId: auth })).toMatchObject({
      status: 404,
    });
  });
});

describe("a cluster", () => {
  const CLUSTER = {
    ...{ name: "c", gpuTypeId: POD_CARD, gpuCountPerPod: 1 },
    pod: { imageName: "acme/app:1", containerDiskInGb: 1 },
  };
  const clusters = async () =>
    (await client.graphql(`{ myself { pods { id clusterId } } }`)) as {
      myself: { pods: { id: string; clusterId: string }[] };
    };

  test("of which not all pods have a place is taken back, and the audit log says so", async ({ expect }) => {
    await PodAgent.join(client);
    const creation = createCluster(contextWith(fleetObject(env, send.accountId)), {
      ...CLUSTER,
      podCount: 3,
    });
    await expect(creation).rejects.toMatchObject({ code: "no_capacity" });
    expect((await clusters()).myself.pods).toEqual([]);
    const operations = await auditedOperations(send.accountId);
    expect(operations.filter((operation) => operation.startsWith("test"))).toEqual([
      "test (cluster)",
      ...["test (pod)", "test (pod)", "test (pod)"],
      ...["test: taken back (pod)", "test: taken back (pod)", "test: taken back (pod)"],
      "test: taken back (cluster)",
    ]);
  });

  test("stays while pods of it are left, and is deleted with them", async ({ expect }) => {
    using _silent = vi.spyOn(console, "error").mockImplementation(() => {});
    await PodAgent.join(client);
    const fleet = {
      createPod: (...call: Parameters<ReturnType<typeof fleetObject>["createPod"]>) =>
        fleetObject(env, send.accountId).createPod(...call),
      changePod: () => Promise.reject(new Error("the fleet is away")),
    };
    const creation = createCluster(contextWith(fleet), { ...CLUSTER, podCount: 3 });
    await expect(creation).rejects.toMatchObject({ code: "no_capacity" });
    const [left] = (await clusters()).myself.pods;
    const context = contextWith(fleetObject(env, send.accountId));
    const { pods } = await requireCluster(context, left?.clusterId ?? "");
    expect(pods).toHaveLength(2);
    await deleteCluster(context, left?.clusterId ?? "");
    expect((await clusters()).myself.pods).toEqual([]);
    expect(await listOwnClusters(context)).toEqual([]);
  });

  test("that is deleted while it is made leaves no pods", async ({ expect }) => {
    await PodAgent.join(client);
    const context = contextWith(fleetObject(env, send.accountId));
    let made = 0;
    const fleet = {
      ...{
        podsOf: fleetObject(env, send.accountId).podsOf,
        changePod: fleetObject(env, send.accountId).changePod,
      },
      createPod: async (...call: Parameters<ReturnType<typeof fleetObject>["createPod"]>) => {
        const [own] = made++ === 1 ? await listOwnClusters(context) : [];
        if (own) await deleteCluster(context, own.record.id);
        return await fleetObject(env, send.accountId).createPod(...call);
      },
    };
    const creation = createCluster(contextWith(fleet), { ...CLUSTER, podCount: 2 });
    await expect(creation).rejects.toMatchObject({ code: "cluster_not_found" });
    expect((await clusters()).myself.pods).toEqual([]);
    expect(await fleetObject(env, send.accountId).podsOf(send.accountId)).toEqual([]);
  });

  test("is deleted although one of its pods is terminated meanwhile", async ({ expect }) => {
    await PodAgent.join(client);
    const context = contextWith(fleetObject(env, send.accountId));
    const { record, pods } = await createCluster(context, { ...CLUSTER, podCount: 2 });
    let isFirst = true;
    const fleet = {
      podsOf: (accountId: string) => fleetObject(env, send.accountId).podsOf(accountId),
      changePod: async (call: PodChangeCall) => {
        const outcome = await fleetObject(env, send.accountId).changePod(call);
        if (isFirst) {
          isFirst = false;
          await terminatePod(context, pods.find(({ record: { id } }) => id !== call.podId)?.record.id ?? "");
        }
        return outcome;
      },
    };
    await deleteCluster(contextWith(fleet), record.id);
    expect(await listOwnClusters(context)).toEqual([]);
  });
});

describe("the key of a pod", () => {
  async function podWithKey() {
    const host = await PodAgent.join(client, { cpuCount: 16, memoryMb: 64_000 });
    const { id } = await created();
    await host.follow();
    const key = host.assignmentOf(id)?.env["RUNPOD_API_KEY"] ?? "";
    return { id, key, host, own: new EdgeClient(key) };
  }

  test("reads, stops and terminates its own pod", async ({ expect }) => {
    const { id, own, key, host } = await podWithKey();
    expect(host.assignmentOf(id)?.masked).toContain(key);
    expect((await own.call("GET", `/v1/pods/${id}`)).body).toMatchObject({ id });
    expect(await own.graphql(`{ pod(input: { podId: "${id}" }) { id desiredStatus } }`)).toMatchObject({
      pod: { id },
    });
    const stopped = await own.graphql(`mutation { podStop(input: { podId: "${id}" }) { id desiredStatus } }`);
    expect(stopped).toEqual({ podStop: { id, desiredStatus: "EXITED" } });
    expect((await own.call("DELETE", `/v1/pods/${id}`)).status).toBe(204);
    const log = await client.graphql(
      "{ myself { auditLog(input: { limit: 1 }) { apiKeyName subjectName } } }",
    );
    expect(log).toEqual({ myself: { auditLog: [{ apiKeyName: `pod ${id}`, subjectName: "my pod" }] } });
  });

  test("opens nothing else", async ({ expect }) => {
    const { own } = await podWithKey();
    const { id: other } = await created();
    expect((await own.call("GET", `/v1/pods/${other}`)).status).toBe(404);
    expect((await own.call("DELETE", `/v1/pods/${other}`)).status).toBe(404);
    for (const [method, path] of [
      ["GET", "/v1/pods"],
      ["GET", "/v1/templates"],
      ["PATCH", `/v1/pods/${other}`],
      ["POST", "/v1/pods"],
    ] as const) {
      expect([path, (await own.call(method, path, method === "GET" ? undefined : {})).status]).toEqual([
        path,
        401,
      ]);
    }
    const answers = [
      "{ myself { id } }",
      `{ pod(input: { podId: "${other}" }) { id } myself { id } }`,
      `mutation { podEditJob(input: { podId: "${other}" }) { id } }`,
    ].map((query) => own.call("POST", "/graphql", { query }));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(await own.graphql(`{ pod(input: { podId: "${other}" }) { id } }`)).toEqual({ pod: null });
  });

  test("of no pod opens nothing", async ({ expect }) => {
    const key = (await podKey(env, "nosuchpod")) ?? "";
    expect((await new EdgeClient(key).call("GET", "/v1/pods/nosuchpod")).status).toBe(401);
    expect((await new EdgeClient(key).call("GET", "/v2/abc/health")).status).toBe(401);
  });
});

test("for another account a pod is as one that never was, whatever is tried", async ({ expect }) => {
  await PodAgent.join(client);
  const { id } = await created({ name: "mine", env: { HUSH: "hush" } });
  const networkVolumeId = (
    await send("POST", "/networkvolumes", { name: "v", size: 10, dataCenterId: "US-KS-2" })
  ).body.id;
  const templateId = await send.template({ isServerless: false });
  const stranger = await EdgeClient.ofNewAccount();
  await PodAgent.join(stranger);
  const graphql = (query: string) => ["POST", "/graphql", { query }] as const;
  const calls = (podId: string) => [
    ["GET", `/v1/pods/${podId}`] as const,
    ["PATCH", `/v1/pods/${podId}`, { name: "x" }] as const,
    ["DELETE", `/v1/pods/${podId}`] as const,
    ...["start", "stop", "reset", "restart"].map((verb) => ["POST", `/v1/pods/${podId}/${verb}`] as const),
    ["GET", `/v1/pod/${podId}/logs`] as const,
    ["GET", `/v1/billing/pods?podId=${podId}`] as const,
    ["GET", `/v2/pods/${podId}`] as const,
    ["PATCH", `/v2/pods/${podId}`, { name: "x" }] as const,
    ["DELETE", `/v2/pods/${podId}`] as const,
    ["POST", `/v2/pods/${podId}/action`, { action: "terminate" }] as const,
    ["GET", `/v2/pods/${podId}/logs`] as const,
    graphql(`{ pod(input: { podId: "${podId}" }) { id env } }`),
    ...["podStop", "podResume", "podBidResume", "podEditJob"].map((field) =>
      graphql(`mutation { ${field}(input: { podId: "${podId}" }) { id env } }`),
    ),
    graphql(`mutation { podTerminate(input: { podId: "${podId}" }) }`),
  ];
  const shown = (podId: string) => async (call: readonly [string, string, unknown?]) => {
    const { status, body } = await stranger.call(...call);
    return [call[1].replaceAll(podId, "…"), status, JSON.stringify(body).replaceAll(podId, "…")];
  };
  const never = "abcdefgh012345";
  const told = await Promise.all(calls(id).map(shown(id)));
  expect(told).toEqual(await Promise.all(calls(never).map(shown(never))));
  expect(JSON.stringify(told)).not.toMatch(/mine|hush/);

  const lists = await stranger.graphql("{ myself { pods { id } } }");
  expect(lists).toEqual({ myself: { pods: [] } });
  for (const fields of [{ networkVolumeId }, { templateId }]) {
    expect((await stranger.call("POST", "/v1/pods", { ...GPU_POD, ...fields })).status).toBe(404);
  }
  expect((await send("GET", `/pods/${id}`)).body).toMatchObject({ name: "mine", desiredStatus: "RUNNING" });
});

test("keys need the permission that the operation needs", async ({ expect }) => {
  await PodAgent.join(client);
  const reader = await restClient({ graphql: "read", endpoints: "none" });
  expect((await reader("GET", "/pods")).status).toBe(200);
  expect((await reader("POST", "/pods", GPU_POD)).status).toBe(401);
  expect((await reader("POST", "/pods/x/stop")).status).toBe(401);
  const caller = await restClient({ graphql: "none", endpoints: "write" });
  expect((await caller("GET", "/pods")).status).toBe(401);
});

test("what pods used is billed at nominal prices, also when they are gone", async ({ expect }) => {
  const { accountId } = send;
  await PodAgent.join(client);
  const { id } = await created();
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const gpus = [{ model: POD_CARD, tier: "AMPERE_16", ms: 3_600_000 }];
  const used = {
    endpointId: id,
    hour,
    accountId,
    endpointName: "my pod",
    workerMs: 3_600_000,
    gpus,
    versions: [],
  };
  await send("DELETE", `/pods/${id}`);
  expect((await send("GET", "/billing/pods")).body).toEqual([]);
  await saveWorkerTotals(db, [used]);
  const range = `bucketSize=hour&startTime=${new Date(hour).toISOString()}&endTime=${new Date(hour + 1).toISOString()}`;
  expect((await send("GET", `/billing/pods?${range}`)).body).toEqual([
    { time: new Date(hour).toISOString(), amount: 0.016, timeBilledMs: 3_600_000, podId: id },
  ]);
  expect((await send("GET", `/billing/pods?${range}&grouping=gpuTypeId`)).body).toMatchObject([
    { gpuTypeId: POD_CARD },
  ]);
  expect((await send("GET", `/billing/pods?${range}&gpuTypeId=NVIDIA%20L4`)).body).toEqual([]);
  expect((await send("GET", `/billing/endpoints?${range}`)).body).toEqual([]);
  const { body } = await client.call("GET", "/v2/billing?bucketSize=hour&lastN=1");
  expect(body).toMatchObject({
    metadata: { totals: { totalAmount: 0.016, podGpuAmount: 0.016, serverlessGpuAmount: 0 } },
  });
  expect((await listOpenUsage(db, 0, 100)).map(({ endpointId }) => endpointId)).not.toContain(id);
});

test("a host without an address publishes nothing, and a pod that needs one finds no place there", async ({
  expect,
}) => {
  const { publicAddress: _, ...inventory } = POD_HOST;
  const host = await PodAgent.join(client, { ...inventory, publicAddress: undefined });
  const { id } = await created();
  await host.follow();
  expect((await send("GET", `/pods/${id}`)).body).toMatchObject({ publicIp: null, portMappings: {} });
  const refused = await send("POST", "/pods", { ...GPU_POD, supportPublicIp: true });
  expect(refused.body.code).toBe("no_capacity");
  const { status } = await send("POST", "/pods", { ...GPU_POD, supportPublicIp: true, ports: ["80/http"] });
  expect(status).toBe(201);
});
