/** Private addresses of pods of clusters in the Fleet object: who gets them, and what hosts hear of each other. */
import { evictDurableObject } from "cloudflare:test";
import { describe, test } from "vitest";
import type { Inventory } from "../../src/contract/agent/agent.ts";
import type { PodConfig } from "../../src/contract/pod.ts";
import type { AssignmentsReply } from "../../src/fleet/messages.ts";
import { inventoryOf, PodFleet, podConfig, type PodHost } from "./pod-hosts.ts";

const CLUSTERS = { canJoinClusters: true };
const ADDRESS = /^198\.19\.\d+\.\d+$/;

const linked = (via: string, gpuCount = 1): Inventory =>
  inventoryOf(gpuCount, { ...CLUSTERS, clusterAddress: via });

/** Makes all pods of a cluster, `c-0` and so on. */
async function makeCluster(
  fleet: PodFleet,
  size: number,
  clusterId = "c",
  settings: Partial<PodConfig> = {},
): Promise<void> {
  for (let rank = 0; rank < size; rank += 1) {
    const config = podConfig(`${clusterId}-${rank}`, { cluster: { clusterId, rank }, ...settings });
    const outcome = await fleet.object.createPod(config, size);
    if (outcome.kind !== "done") throw new Error(`Pod ${rank} has no place: ${JSON.stringify(outcome)}`);
  }
}

async function addressOf(fleet: PodFleet, podId: string): Promise<string | null | undefined> {
  return (await fleet.view(podId))?.clusterAddress;
}

async function assignments(fleet: PodFleet, { hostId }: PodHost): Promise<AssignmentsReply> {
  const reply = await fleet.object.assignments(hostId);
  if (reply.kind !== "assignments") throw new Error(`The host got ${reply.kind}.`);
  return reply;
}

describe("a cluster", () => {
  test("on one host has addresses, which its host hears as long as a pod is there", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2, CLUSTERS));
    await makeCluster(fleet, 2);
    const [first, second] = [await addressOf(fleet, "c-0"), await addressOf(fleet, "c-1")];
    expect([first, second]).toEqual([expect.stringMatching(ADDRESS), expect.stringMatching(ADDRESS)]);
    expect(first).not.toBe(second);
    const { clusterNetwork, workers } = await assignments(fleet, host);
    expect(clusterNetwork).toEqual({
      ...{ network: "198.19.0.0/16", gateway: "198.19.0.1" },
      clusters: [{ clusterId: "c", local: [first, second], remote: [] }],
    });
    expect(workers.map(({ cluster }) => cluster)).toEqual([
      { address: first, primaryAddress: first },
      { address: second, primaryAddress: first },
    ]);

    await evictDurableObject(fleet.object);
    expect([await addressOf(fleet, "c-0"), await addressOf(fleet, "c-1")]).toEqual([first, second]);
    await host.sync();
    await fleet.change("c-1", { kind: "stop" });
    await host.sync();
    expect(await addressOf(fleet, "c-1")).toBe(second);
    await fleet.change("c-1", {
      kind: "start",
      config: podConfig("c-1", { cluster: { clusterId: "c", rank: 1 } }),
    });
    expect(await addressOf(fleet, "c-1")).toBe(second);
    for (const podId of ["c-0", "c-1"]) await fleet.change(podId, { kind: "terminate" });
    await host.sync();
    expect((await assignments(fleet, host)).clusterNetwork).toBeUndefined();
  });

  test("is on one host where one has places for all, else on hosts that reach each other", async ({
    expect,
  }) => {
    const fleet = new PodFleet();
    await fleet.host("alone", inventoryOf(1, CLUSTERS));
    const near = await fleet.host("near", linked("192.0.2.1", 2));
    const far = await fleet.host("far", linked("192.0.2.2", 2));
    await makeCluster(fleet, 3);
    const hosts = await Promise.all(
      [0, 1, 2].map(async (rank) => (await fleet.view(`c-${rank}`))?.host?.hostId),
    );
    expect(new Set(hosts)).toEqual(new Set(["near", "far"]));
    const [onNear, onFar] = [await assignments(fleet, near), await assignments(fleet, far)];
    const cluster = { near: onNear.clusterNetwork?.clusters[0], far: onFar.clusterNetwork?.clusters[0] };
    expect(cluster.near?.remote).toEqual(
      cluster.far?.local.map((address) => ({ address, via: "192.0.2.2" })),
    );
    expect(cluster.far?.remote).toEqual(
      cluster.near?.local.map((address) => ({ address, via: "192.0.2.1" })),
    );
    await makeCluster(fleet, 1, "d");
    expect(await addressOf(fleet, "d-0")).toMatch(ADDRESS);
  });

  test("hosts hear when a peer leaves, moves, or is reached elsewhere", async ({ expect }) => {
    const fleet = new PodFleet();
    const near = await fleet.host("near", linked("192.0.2.1"));
    const far = await fleet.host("far", linked("192.0.2.2"));
    await makeCluster(fleet, 2);
    await near.sync();
    const remoteOfNear = async () => (await assignments(fleet, near)).clusterNetwork?.clusters[0]?.remote;
    const address = await addressOf(fleet, (await fleet.view("c-0"))?.host?.hostId === "far" ? "c-0" : "c-1");
    const revision = async () => (await assignments(fleet, near)).revision;
    const before = await revision();
    far.inventory = linked("192.0.2.9");
    await far.sync();
    expect(await remoteOfNear()).toEqual([{ address, via: "192.0.2.9" }]);
    const third = await fleet.host("third", linked("192.0.2.3"));
    await fleet.object.changeHost({ hostId: "far", accountId: "account", name: "far", drained: true });
    await far.sync();
    await third.sync();
    expect(await remoteOfNear()).toEqual([{ address, via: "192.0.2.3" }]);
    expect((await assignments(fleet, far)).clusterNetwork).toBeUndefined();
    expect(await revision()).toBeGreaterThan(before);
  });

  test.for([
    ["hosts whose agents do not keep clusters apart", inventoryOf(1), inventoryOf(1)],
    ["hosts without an address", inventoryOf(1, CLUSTERS), inventoryOf(1, CLUSTERS)],
    ["hosts of which one has an address", linked("192.0.2.1"), inventoryOf(1, CLUSTERS)],
  ] as const)("has no addresses on %s, and is there all the same", async ([, one, other], { expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h1", one);
    await fleet.host("h2", other);
    await makeCluster(fleet, 2);
    expect([await addressOf(fleet, "c-0"), await addressOf(fleet, "c-1")]).toEqual([null, null]);
    expect((await assignments(fleet, host)).clusterNetwork).toBeUndefined();
  });

  test("a pod starts again only where its peers reach it, and says so", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2, CLUSTERS));
    await makeCluster(fleet, 2);
    await host.sync();
    await fleet.change("c-1", { kind: "stop" });
    await host.sync();
    await fleet.create("other");
    await fleet.host("elsewhere", linked("192.0.2.1"));
    const config = podConfig("c-1", { cluster: { clusterId: "c", rank: 1 } });
    expect(await fleet.change("c-1", { kind: "start", config })).toMatchObject({
      kind: "no_capacity",
      failure: { detail: expect.stringContaining("taken") },
    });
    await fleet.change("other", { kind: "terminate" });
    await host.sync();
    expect(await fleet.change("c-1", { kind: "start", config })).toMatchObject({
      pod: { host: { hostId: "h" } },
    });
  });
});
