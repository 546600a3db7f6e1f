/** Requests at addresses and by methods that nobody serves: they are mistakes of the caller, and never ours. */
import { exports } from "cloudflare:workers";
import { test } from "vitest";
import { PAGES } from "../../src/gateway/console/pages.ts";
import { restV2Apis } from "../../src/gateway/rest-v2/routes.ts";
import { edgeRoutes } from "../../src/routes.ts";
import { ROOT_API_KEY } from "./edge-client.ts";

/** One address in each router; `x` stands for an id. */
const MOUNTS = [
  "/v2/serverless/x/workers/x/logs",
  "/v2/x/openai",
  "/v2/serverless",
  "/v2/openapi.json",
  "/v2/x",
  "/lb/x",
  "/pods/x",
  "/tunnels/x/exec",
  "/tunnels/x/ports/x",
  "/v1",
  "/console",
  ...PAGES.map((page) => `/${page}`),
  "/agent",
  "/artifacts",
  "/docs/graphql",
  "/docs",
  "/flash",
  "/graphql",
  "/packages/simple/edgerun",
  "/packages",
  "/home.js",
  "/favicon.ico",
  "/metrics",
  "/openapi.json",
];
const SUFFIXES = ["", "/", "//", "/x", "/x/", "/%ff", "/%00/..%2f", "/v1/a/b/c?api_key=x", "?api_key=%ff"];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND"];
const KEYS = [undefined, ROOT_API_KEY, "wrong"];

const addresses = [...MOUNTS, ""].flatMap((mount) => SUFFIXES.map((suffix) => `${mount}${suffix}`));

async function statusOf(method: string, address: string, key = ROOT_API_KEY): Promise<number> {
  const headers = { Authorization: key === "" ? "" : `Bearer ${key}` };
  const response = await exports.default.fetch(`http://edge${address}`, { method, headers });
  await response.body?.cancel();
  return response.status;
}

test("every router is among those that are tried", ({ expect }) => {
  // One noun of REST v2 stands for the others, which have the same router.
  const nouns = restV2Apis.flatMap(({ operations }) => operations.map(({ on }) => on.split("/")[1]));
  const ofRestV2 = new Set(nouns.map((noun) => `/v2/${noun}`));
  const tried = [...MOUNTS, ...ofRestV2];
  const paths = edgeRoutes().routes.map(({ path }) => path.replaceAll(/:\w+/g, "x"));
  const untried = paths.filter((path) => path !== "/" && !tried.some((mount) => path.startsWith(mount)));
  expect(untried).toEqual([]);
});

test.for(METHODS)("%s at an odd address is never an internal error", async (method, { expect }) => {
  const answers = addresses.flatMap((address) =>
    KEYS.map(async (key = "") => [await statusOf(method, address, key), address] as const),
  );
  expect((await Promise.all(answers)).filter(([status]) => status >= 500)).toEqual([]);
});

test("a slash at the end of a served address makes no difference", async ({ expect }) => {
  const served = edgeRoutes().routes.filter(
    ({ method, path }) => method !== "ALL" && path !== "/" && !path.includes("*"),
  );
  const differing = served.map(async ({ method, path: pattern }) => {
    const path = pattern.replaceAll(/:\w+/g, "x");
    const [plain, slashed] = [await statusOf(method, path), await statusOf(method, `${path}/`)];
    return plain === slashed ? [] : [`${method} ${path}: ${plain}, with a slash ${slashed}`];
  });
  expect((await Promise.all(differing)).flat()).toEqual([]);
});

test("the management API is at its address with a slash, and at none below", async ({ expect }) => {
  const post = async (address: string) => {
    const body = JSON.stringify({ query: "{ myself { id } }" });
    const response = await exports.default.fetch(`http://edge${address}`, { method: "POST", body });
    const { data, errors } = await response.json<{
      data: object | null;
      errors?: [{ extensions: object }];
    }>();
    return [response.status, data ?? errors?.[0].extensions];
  };
  const served = [200, { myself: { id: expect.any(String) } }];
  expect(await post(`/graphql?api_key=${ROOT_API_KEY}`)).toEqual(served);
  expect(await post(`/graphql/?api_key=${ROOT_API_KEY}`)).toEqual(served);
  expect(await post(`/graphql/x?api_key=${ROOT_API_KEY}`)).toEqual([404, { code: "NOT_FOUND" }]);
  expect(await post("/graphql/?api_key=wrong")).toEqual([401, { code: "UNAUTHORIZED" }]);
});
