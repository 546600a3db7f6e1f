import { test } from "vitest";
import { endpointObjectNear, fleetObject } from "../../src/management/objects.ts";

test("objects of endpoints and fleets are created near the places that are named", ({ expect }) => {
  const named: unknown[] = [];
  const namespace = { getByName: (...call: unknown[]) => named.push(call) } as never;
  endpointObjectNear({ ENDPOINT: namespace }, "e", ["US-WA-1"]);
  fleetObject({ FLEET: namespace }, "account", ["FR"]);
  fleetObject({ FLEET: namespace }, "account");
  expect(named).toEqual([
    ["e#0", { locationHint: "wnam" }],
    ["account", { locationHint: "weur" }],
    ["account", undefined],
  ]);
});
