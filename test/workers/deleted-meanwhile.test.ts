import { beforeEach, test } from "vitest";
import { EdgeClient } from "./edge-client.ts";

const { call, createEndpoint, signInAsNewAccount } = new EdgeClient();

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
