/** What Fleet keeps in memory: it outlives the endpoints, so nothing of a deleted one may stay. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { FleetStore } from "../../src/fleet/fleet-store.ts";
import { HostPresence } from "../../src/fleet/host-presence.ts";
import { Placer } from "../../src/fleet/placer.ts";

const config: EndpointConfig = {
  endpointId: "e",
  accountId: "a",
  name: "e",
  type: "QB",
  version: 1,
  workersMin: 0,
  workersMax: 1,
  idleTimeoutSeconds: 5,
  scalerType: "QUEUE_DELAY",
  scalerValue: 4,
  executionTimeoutMs: 60_000,
  gpuTiers: ["ADA_24"],
  excludedGpuModels: [],
  gpuCount: 1,
  locations: [],
};

test("the shortage of a deleted endpoint is forgotten, and so is the endpoint", async ({ expect }) => {
  await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
    const store = new FleetStore(new ObjectDatabase(storage.sql));
    const placer = new Placer(store, new HostPresence());
    store.saveWish({ wanted: 1, config });
    placer.plan(0);
    expect(placer.describe("e")).toMatchObject({ missing: 1, shortage: { reason: "no_host" } });
    expect(placer.isKnown("e")).toBe(true);

    placer.removeWish("e");
    placer.plan(1);
    expect(placer.describe("e")).toEqual({ workers: [], missing: 0, shortage: null });
    expect(placer.isKnown("e")).toBe(false);
  });
});
