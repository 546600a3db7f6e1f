/** What an assignment says of the host's CPU, memory and network volumes. */
import { beforeEach, describe, test } from "vitest";
import type { Assignment, Inventory } from "../../src/contract/agent.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { graphql, signInAsNewAccount } from "./edge-client.ts";

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
  const agent = await ScriptedAgent.join();
  for (;;) {
    const { assignments } = await agent.sync({ inventory });
    const found = assignments.find((assignment) => assignment.endpointId === endpointId);
    if (found) return found;
    await scheduler.wait(5);
  }
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
    const without = await ScriptedAgent.join("without");
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
