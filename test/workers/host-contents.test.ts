/** Workers go to hosts that have their image, the files of their app and their models. */
import { describe } from "vitest";
import { filesContent, imageContent } from "../../src/contract/content.ts";
import { type FleetHarness, test, TestEndpoint, type TestHost } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

const TWO = { gpus: ["AMPERE_16", "AMPERE_16"] };
const IMAGE = imageContent("test:1");
const MODEL = { id: "org/small", commit: "0".repeat(40), sizeBytes: 1 };

/** The host reports that it has these. */
async function report(
  host: TestHost | undefined,
  contents: readonly string[],
  models = [] as (typeof MODEL)[],
) {
  await host?.agent.sync({ inventory: host.inventory, contents: [...contents], models });
}

/** An endpoint with one worker, whose template names a model. */
async function endpointWithModel(fleet: FleetHarness): Promise<TestEndpoint> {
  const { saveEndpoint } = await fleet.api.graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "m", gpuIds: "AMPERE_16", workersMin: 1, workersMax: 2,
       template: { imageName: "test:1", containerDiskInGb: 5, models: ["org/small@main"] } }) { id } }`,
  );
  return new TestEndpoint(fleet.api, saveEndpoint.id);
}

/** The host that the first worker of the endpoint is on. */
async function hostOf({ id }: TestEndpoint, hosts: readonly TestHost[]): Promise<number> {
  const look = async () => {
    const assigned = await Promise.all(hosts.map((host) => host.sync()));
    const found = assigned.findIndex((list) => list.some(({ endpointId }) => endpointId === id));
    return found < 0 ? notYet(assigned) : { found };
  };
  return (await until(look, "a host has the worker")).found;
}

describe("a worker goes to the host that has", () => {
  test.for([0, 1])("its image: host %i", async (holder, { expect, fleet }) => {
    const hosts = [await fleet.host(TWO), await fleet.host(TWO)];
    await report(hosts[holder], [filesContent("0".repeat(64)), IMAGE]);
    await report(hosts[1 - holder], ["image:other:1"]);
    expect(await hostOf(await fleet.endpoint("workersMin: 1, workersMax: 2"), hosts)).toBe(holder);
  });

  test.for([0, 1])("its model as well: host %i", async (holder, { expect, fleet }) => {
    const hosts = [await fleet.host(TWO), await fleet.host(TWO)];
    await report(hosts[holder], [IMAGE], [MODEL]);
    await report(hosts[1 - holder], [IMAGE], [{ ...MODEL, id: "org/other" }]);
    expect(await hostOf(await endpointWithModel(fleet), hosts)).toBe(holder);
  });
});

test("what Fleet has forgotten, the next sync says again", async ({ expect, fleet }) => {
  for (const holder of [0, 1]) {
    const hosts = [await fleet.host(TWO), await fleet.host(TWO)];
    await fleet.evict();
    for (const [index, host] of hosts.entries()) await report(host, index === holder ? [IMAGE] : []);
    const endpoint = await fleet.endpoint("workersMin: 1, workersMax: 2");
    expect(await hostOf(endpoint, hosts)).toBe(holder);
    await endpoint.delete();
    for (const { agent } of hosts)
      await fleet.api.graphql(`mutation { hostRemove(input: { id: "${agent.hostId}" }) }`);
  }
});

test("a list that nobody can read does not make the host go away", async ({ expect, fleet }) => {
  const host = await fleet.host(TWO);
  await report(host, ["", "image:", "nonsense", "image:x".padEnd(5_000, "y"), IMAGE]);
  expect(await hostOf(await fleet.endpoint("workersMin: 1, workersMax: 2"), [host])).toBe(0);
});
