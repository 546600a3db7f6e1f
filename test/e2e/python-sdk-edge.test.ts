import { resolve } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { makeEndpoint } from "../cli/support/deployed-endpoint.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { newAccount } from "../support/shared-edge.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SCRIPT = resolve(ROOT, "test/clients/edgerun_sdk.py");

let edge: EdgeAccess;

beforeAll(async () => {
  edge = await newAccount("python sdk");
});

async function run(step: string): Promise<unknown> {
  const { stdout } = await execa("python3", [SCRIPT], {
    env: {
      STEP: step,
      PYTHONPATH: resolve(ROOT, "sdk/python/src"),
      EDGERUN_URL: edge.baseUrl,
      SVC_API_KEY: edge.apiKey,
      FLASH_APP: "shop",
      FLASH_ENV: "staging",
      FLASH_SENTINEL_TIMEOUT: "1",
    },
  });
  return JSON.parse(stdout);
}

describe("the Python package and a real edge", () => {
  test("an endpoint of an own image is made, found, used, updated and deleted", async ({ expect }) => {
    expect(await run("own_image")).toEqual({
      status: "IN_QUEUE",
      cancelled: "CANCELLED",
      same_volume: true,
      updated: true,
    });
    const api = managementApi(edge.baseUrl, edge.apiKey);
    const { myself } = await api.query<{ myself: { endpoints: readonly unknown[] } }>(
      "query { myself { endpoints { id } } }",
      {},
    );
    expect(myself.endpoints).toEqual([]);
  });

  test("a function is found by app, environment and endpoint once it is deployed", async ({ expect }) => {
    expect(await run("app")).toMatchObject({ same_app: true, before: "EndpointNotFoundError" });
    await makeEndpoint(edge, { app: "shop", environment: "staging", name: "resize" });
    // There is no host, so its job waits.
    expect(await run("call")).toBe("CallTimeoutError");
    expect(await run("remove")).toBe(null);
  });
});
