/** What Fleet keeps in memory: it outlives the endpoints, so nothing of a deleted one may stay. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts } from "../../src/fleet/fleet-parts.ts";

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
    const { store, placer } = fleetParts(new ObjectDatabase(storage.sql));
    store.saveWish({ wanted: 1, config });
    placer.review("e");
    placer.plan(0, () => false);
    expect(placer.shortageOf("e")).toMatchObject({ missing: 1, shortage: { reason: "no_host" } });
    expect(placer.isKnown("e")).toBe(true);

    placer.removeWish("e");
    placer.review("e");
    placer.plan(1, () => false);
    expect(placer.shortageOf("e")).toEqual({ missing: 0, shortage: null });
    expect(placer.isKnown("e")).toBe(false);
  });
});
