import { exports } from "cloudflare:workers";
import { test } from "vitest";
import { EdgeClient } from "./edge-client.ts";

const { call } = new EdgeClient();

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return exports.default.fetch(`http://edge${path}`, { headers, redirect: "manual" });
}

const PAGES = ["/", "/docs", "/docs/graphql", "/flash/login?request=x"];

test.for(PAGES)("%s needs no key and may load nothing from elsewhere", async (path, { expect }) => {
  const response = await get(path, { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toMatch(/^text\/html/);
  const policy = response.headers.get("Content-Security-Policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const text = await response.text();
  expect([...text.matchAll(/(?:src|href)="(?![/#])/g)]).toEqual([]);
});

test.for([undefined, "*/*", "application/json", "application/json, text/html;q=0.5"])(
  "a program that accepts %s gets the URLs as JSON",
  async (accept, { expect }) => {
    const response = await get("/", accept === undefined ? {} : { Accept: accept });
    expect(response.headers.get("Vary")).toBe("Accept");
    expect(await response.json()).toMatchObject({
      name: "edgerun",
      docs: "/docs",
      packages: "/packages",
      pods: "/pods/<pod id>/<port>/<path>",
      directHosts: ["lb.localhost", "localhost"],
      podHosts: ["proxy.localhost"],
    });
  },
);

test("a browser that looks for an icon beside the API finds one", async ({ expect }) => {
  const response = await get("/favicon.ico");
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "image/svg+xml"]);
  await response.arrayBuffer();
});

test("every file that the explorer names is served, and an unchanged one is not sent twice", async ({
  expect,
}) => {
  const text = await (await get("/docs")).text();
  const addresses = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? "");
  expect(addresses).toContain("/docs/swagger-ui/swagger-ui-bundle.js");
  for (const address of addresses) {
    const response = await get(address);
    expect(response.status, address).toBe(200);
    await response.arrayBuffer();
  }
  const bundle = await get("/docs/swagger-ui/swagger-ui-bundle.js");
  await bundle.arrayBuffer();
  const again = await get("/docs/swagger-ui/swagger-ui-bundle.js", {
    "If-None-Match": bundle.headers.get("ETag") ?? "",
  });
  expect(again.status).toBe(304);
});

test("a page that does not exist is answered with 404", async ({ expect }) => {
  expect(await call("GET", "/docs/nothing")).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await call("GET", "/docs/../index.html")).toMatchObject({ status: 404 });
});

test("the document is the same at both addresses, for everybody, and may be kept", async ({ expect }) => {
  const [first, second] = [await get("/openapi.json"), await get("/v1/openapi.json")];
  expect(first.headers.get("Cache-Control")).toMatch(/^public, max-age=\d+$/);
  expect(await first.json()).toEqual(await second.json());
});

test("a browser at /graphql is redirected to the page, and a program is answered with how to post", async ({
  expect,
}) => {
  const browser = await get("/graphql", { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  expect([browser.status, browser.headers.get("Location")]).toEqual([302, "/docs/graphql"]);
  for (const Accept of ["application/json", "*/*"]) {
    const program = await call("GET", "/graphql", undefined, { Accept });
    expect(program).toMatchObject({
      status: 405,
      body: { errors: [{ extensions: { code: "METHOD_NOT_ALLOWED" } }] },
    });
  }
});
