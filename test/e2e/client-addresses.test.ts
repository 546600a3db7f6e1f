/** Without Cloudflare in front, an address that a client names is not that of anybody. */
import { test } from "vitest";
import { EDGE_RATE_LIMITS } from "../../src/contract/rate-limits.ts";
import { newAccount } from "../support/shared-edge.ts";

test("a client cannot use up the rate limit of another IP address", async ({ expect }) => {
  const edge = await newAccount("client addresses");
  const headers = { "CF-Connecting-IP": "192.0.2.7", "MF-CF-Blob": '{"country":"CH"}' };
  const statuses = new Set<number>();
  for (let count = 0; count <= EDGE_RATE_LIMITS.join.requests; count += 1) {
    const response = await fetch(`${edge.baseUrl}/agent/v1/join`, { method: "POST", headers, body: "{}" });
    await response.arrayBuffer();
    statuses.add(response.status);
  }
  expect([...statuses]).toEqual([400]);
});
