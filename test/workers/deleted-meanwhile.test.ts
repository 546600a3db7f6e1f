import { runInDurableObject } from "cloudflare:test";
import { beforeEach, test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { EdgeClient } from "./edge-client.ts";
import { fleetObject } from "./object.ts";
import { notYet, until } from "./support/until.ts";

const client = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = client;

beforeEach(signInAsNewAccount);

test("a call that waits while its endpoint is deleted is answered, and never with an internal error", async ({
  expect,
}) => {
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const endpointId = await createEndpoint();
      const body = { input: { a: 1 }, policy: { ttl: 10_000 } };
      const waiting = call("POST", `/v2/${endpointId}/runsync?wait=1000`, body);
      // oxlint-disable-next-line edgerun/no-sleeps -- so that deletions meet calls wherever they are
      await scheduler.wait(index * 12);
      expect((await call("DELETE", `/v1/endpoints/${endpointId}`)).status).toBe(204);
      return (await waiting).status;
    }),
  );
  expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
});

async function desiredConfigOf(endpointId: string): Promise<EndpointConfig | undefined> {
  return await runInDurableObject(fleetObject(client.accountId), (_, { storage }) => {
    const [row] = storage.sql
      .exec<{ config: string }>("SELECT config FROM desired_workers WHERE endpoint_id = ?", endpointId)
      .toArray();
    return row && (JSON.parse(row.config) as EndpointConfig);
  });
}

test("what an object sent before its endpoint was deleted brings no workers back", async ({ expect }) => {
  const endpointId = await createEndpoint();
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const config = await until(() => desiredConfigOf(endpointId), "workers are desired");
  expect((await call("DELETE", `/v1/endpoints/${endpointId}`)).status).toBe(204);
  await fleetObject(client.accountId).setDesiredWorkers({ config, desired: 1, isRemoved: false });
  const look = async () => (await desiredConfigOf(endpointId)) === undefined || notYet("still desired");
  await until(look, "no workers are desired");
});
