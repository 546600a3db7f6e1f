/** What an assignment says of the host's CPU, memory and network volumes, and that it is always one. */
import fc from "fast-check";
import { beforeEach, describe, test, vi } from "vitest";
import { assignmentSchema, type Assignment, type Inventory } from "../../src/contract/agent/agent.ts";
import { startLimitMs } from "../../src/domain/scaling/start-limit.ts";
import { toAssignment, type Filled } from "../../src/management/assignments/assignments.ts";
import type { Blueprint } from "../../src/management/assignments/blueprint.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

async function endpointWith(fields: string): Promise<string> {
  const name = `t-${crypto.randomUUID().slice(0, 8)}`;
  const { saveTemplate } = await graphql<{ saveTemplate: { id: string } }>(
    `mutation { saveTemplate(input: { name: "${name}", imageName: "test:1", containerDiskInGb: 5, volumeInGb: 0,
       isServerless: true, dockerArgs: "", env: [] }) { id } }`,
  );
  const { saveEndpoint } = await graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "limited", workersMin: 1, templateId: "${saveTemplate.id}", ${fields} }) { id } }`,
  );
  return saveEndpoint.id;
}

async function volumeIn(dataCenterId: string): Promise<string> {
  const { createNetworkVolume } = await graphql<{ createNetworkVolume: { id: string } }>(
    `mutation { createNetworkVolume(input: { name: "models", size: 10, dataCenterId: "${dataCenterId}" }) { id } }`,
  );
  return createNetworkVolume.id;
}

/** What a host of this kind is told to run; it asks until it is told of a worker. */
async function assigned(inventory: Inventory, endpointId: string): Promise<Assignment> {
  const agent = await ScriptedAgent.join(api);
  return await until(async () => {
    const { assignments } = await agent.sync({ inventory });
    return assignments.find((assignment) => assignment.endpointId === endpointId);
  }, "the host has a worker of the endpoint");
}

const card = { name: "NVIDIA RTX A4000", tier: "AMPERE_16", memoryMb: 16_384, isSimulated: false };
const REAL: Inventory = {
  ...INVENTORY,
  gpus: [0, 1].map((index) => ({ ...card, index })),
  cpuCount: 16,
  memoryMb: 64_000,
};

describe("an assignment", () => {
  test("gives a worker of real GPUs the share that goes with them", async ({ expect }) => {
    const endpointId = await endpointWith('gpuIds: "AMPERE_16"');
    const { limits } = await assigned(REAL, endpointId);
    expect(limits).toEqual({ cpuMilli: 8_000, memoryMb: 32_000 });
  });

  test("gives a CPU worker what its instance is", async ({ expect }) => {
    const endpointId = await endpointWith('instanceIds: ["cpu5c-4-8"]');
    const { limits } = await assigned(INVENTORY, endpointId);
    expect(limits).toEqual({ cpuMilli: 4_000, memoryMb: 8_000 });
  });

  test("sets no limit where GPUs are simulated", async ({ expect }) => {
    const endpointId = await endpointWith('gpuIds: "AMPERE_16"');
    expect(await assigned(INVENTORY, endpointId)).not.toHaveProperty("limits");
  });

  test("names the volumes of the endpoint, and the host must have one", async ({ expect }) => {
    const [kansas, norway] = [await volumeIn("US-KS-2"), await volumeIn("EUR-NO-1")];
    const endpointId = await endpointWith(
      `gpuIds: "AMPERE_16", networkVolumeIds: [{ networkVolumeId: "${kansas}" }, { networkVolumeId: "${norway}" }]`,
    );
    const without = await ScriptedAgent.join(api, "without");
    const { assignments } = await without.sync({ inventory: { ...INVENTORY, networkVolumeIds: [] } });
    expect(assignments).toEqual([]);
    const { networkVolumeIds } = await assigned({ ...INVENTORY, networkVolumeIds: [norway] }, endpointId);
    expect(networkVolumeIds).toEqual([kansas, norway]);
  });

  test("says nothing of volumes where an endpoint has none", async ({ expect }) => {
    const endpointId = await endpointWith('gpuIds: "AMPERE_16"');
    expect(await assigned(INVENTORY, endpointId)).not.toHaveProperty("networkVolumeIds");
  });
});

// Whatever is stored

const WORKER = { workerId: "w", endpointId: "e", version: 1, gpuIndexes: [0] };
const MINUTE_MS = 60_000;

/** A value of the type that the code expects, or of another: rows may be older than the rules of today. */
const odd = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 8, arbitrary },
    { weight: 1, arbitrary: fc.oneof(fc.double(), fc.constant(null), fc.string()) as fc.Arbitrary<T> },
  );
const limit = fc.oneof(
  fc.string(),
  fc.double().map(String),
  fc.constantFrom("1.005", "1e20", "0.0001", "-1"),
);
const blueprint = fc.record(
  {
    fixed: fc.record(
      {
        endpointId: fc.constant("e"),
        type: fc.constantFrom("QB" as const, "LB" as const),
        imageName: odd(fc.string({ unit: "binary" })),
        dockerArgs: odd(fc.string({ unit: "binary" })),
        containerDiskInGb: odd(fc.nat()),
        startLimitMs: limit.map(startLimitMs),
        networkVolumeIds: odd(fc.array(fc.string())),
        artifact: odd(fc.record({ sha256: fc.string(), sizeBytes: fc.nat() })),
      },
      {
        requiredKeys: ["endpointId", "type", "imageName", "dockerArgs", "containerDiskInGb", "startLimitMs"],
      },
    ),
    variables: fc.constant([]),
    registryAuthId: fc.constant(null),
    templateName: fc.string(),
    isSuperseded: fc.constant(true as const),
  },
  { requiredKeys: ["fixed", "variables", "registryAuthId", "templateName"] },
);
const filled: fc.Arbitrary<Filled> = fc.oneof(
  fc.record({
    kind: fc.constant("filled" as const),
    fields: fc.record({
      env: fc.dictionary(fc.string({ minLength: 1 }), odd(fc.string())),
      registryAuth: odd(fc.constant(null)),
    }),
  }),
  fc.record({ kind: fc.constant("problem" as const), problem: fc.string({ maxLength: 5_000 }) }),
);

test("whatever a template says, the assignment fits what agents read, and keeps its worker", ({ expect }) => {
  using _silent = vi.spyOn(console, "error").mockImplementation(() => {});
  fc.assert(
    fc.property(blueprint as fc.Arbitrary<Blueprint>, filled, (made, fields) => {
      const sent = JSON.parse(JSON.stringify(toAssignment(WORKER, made, fields)));
      const { data, error } = assignmentSchema.safeParse(sent);
      expect(error).toBeUndefined();
      expect(data).toMatchObject({ workerId: "w", endpointId: "e", revision: 1 });
      expect(data?.startLimitMs).toBeLessThanOrEqual(24 * 60 * MINUTE_MS);
      if (data?.problem !== undefined) expect([data.env, data.dockerArgs]).toEqual([{}, ""]);
    }),
  );
});
