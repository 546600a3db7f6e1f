/** What holds for all of REST v1. */
import { test } from "vitest";
import { EdgeClient } from "./edge-client.ts";
import { freshClient, savedEndpoint } from "./graphql-client.ts";
import { restClient, type RestClient } from "./rest-client.ts";

const { call } = new EdgeClient();

test("a missing or wrong key is rejected with 401", async ({ expect }) => {
  for (const headers of [{ Authorization: "" }, { Authorization: "Bearer wrong" }]) {
    const { status, body } = await call("GET", "/v1/templates", undefined, headers);
    expect(status).toBe(401);
    expect(body).toEqual({
      error: body["message"],
      message: body["error"],
      status: 401,
      code: "unauthorized",
    });
  }
});

test("a read-only key changes nothing, and the error names the missing permission", async ({ expect }) => {
  const rest = await restClient({ graphql: "read", endpoints: "write" });
  expect((await rest("GET", "/endpoints")).status).toBe(200);
  for (const [method, path] of [
    ["POST", "/templates"],
    ["PATCH", "/templates/x"],
    ["DELETE", "/endpoints/x"],
  ] as const) {
    const { status, body } = await rest(method, path, method === "DELETE" ? undefined : {});
    expect({ status, body }).toMatchObject({
      status: 401,
      body: { code: "insufficient_permission", message: expect.stringContaining("graphql: WRITE") },
    });
  }
});

test("a key that reads may ask for the head of what it may read", async ({ expect }) => {
  const rest = await restClient({ graphql: "read", endpoints: "none" });
  expect((await rest("HEAD", "/endpoints")).status).toBe(200);
});

test("the key stands in the header: not in the address, and not that of one endpoint", async ({ expect }) => {
  const { key, ...owner } = await freshClient();
  const { aiKey } = await savedEndpoint({ key, ...owner }, "", "aiKey");
  expect((await call("GET", "/v1/endpoints", undefined, { Authorization: `Bearer ${key}` })).status).toBe(
    200,
  );
  for (const [path, header] of [
    [`/v1/endpoints?api_key=${key}`, ""],
    ["/v1/endpoints", `Bearer ${aiKey}`],
    ["/v1/endpoints", aiKey],
  ]) {
    const { status, body } = await call("GET", path ?? "", undefined, { Authorization: header ?? "" });
    expect([status, body["code"]]).toEqual([401, "unauthorized"]);
  }
});

test("a key without the management API reads nothing", async ({ expect }) => {
  const rest = await restClient({ graphql: "none", endpoints: "write" });
  const { status, body } = await rest("GET", "/endpoints");
  expect(status).toBe(401);
  expect(body.message).toContain("graphql: READ");
});

const NOUNS: Readonly<Record<string, (rest: RestClient) => Promise<{ readonly body: { id: string } }>>> = {
  endpoints: async (rest) => rest("POST", "/endpoints", { templateId: await rest.template() }),
  templates: async (rest) => ({ body: { id: await rest.template() } }),
  networkvolumes: (rest) => rest("POST", "/networkvolumes", { name: "v", size: 10, dataCenterId: "EU-RO-1" }),
  containerregistryauth: (rest) =>
    rest("POST", "/containerregistryauth", { name: "r", username: "u", password: "p" }),
};

test.for(Object.keys(NOUNS))("the %s of others look as if they were not there", async (noun, { expect }) => {
  const [owner, other] = [await restClient(), await restClient()];
  const made = await NOUNS[noun]?.(owner);
  const path = `/${noun}/${made?.body.id}`;
  expect((await owner("GET", path)).status).toBe(200);
  expect((await other("GET", `/${noun}`)).body).toEqual([]);
  const methods = noun === "containerregistryauth" ? ["GET", "DELETE"] : ["GET", "PATCH", "DELETE"];
  for (const method of methods) {
    const theirs = await other(method, path, method === "PATCH" ? {} : undefined);
    const nobodys = await other(method, `/${noun}/nobody`, method === "PATCH" ? {} : undefined);
    expect(theirs.status).toBe(404);
    expect(theirs.body.message.replace(made?.body.id, "nobody")).toBe(nobodys.body.message);
  }
  expect((await owner("DELETE", path)).status).toBe(204);
  expect((await owner("GET", path)).status).toBe(404);
});

test("a volume grows and never shrinks; a password is never shown", async ({ expect }) => {
  const rest = await restClient();
  const { body: volume } = await rest("POST", "/networkvolumes", {
    name: "v",
    size: 10,
    dataCenterId: "EU-RO-1",
  });
  expect(volume).toEqual({ id: volume.id, name: "v", size: 10, dataCenterId: "EU-RO-1" });
  expect((await rest("PATCH", `/networkvolumes/${volume.id}`, { size: 20 })).body.size).toBe(20);
  const smaller = await rest("PATCH", `/networkvolumes/${volume.id}`, { size: 19 });
  expect(smaller).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^size: /) } });
  expect((await rest("POST", "/networkvolumes", { name: "v" })).body.message).toMatch(
    /size: .*dataCenterId: /,
  );

  const made = await rest("POST", "/containerregistryauth", { name: "r", username: "u", password: "p" });
  expect(made.body).toEqual({ id: made.body.id, name: "r" });
});

test.for(["POST", "PATCH"])("control characters in a name are refused: %s", async (method, { expect }) => {
  const rest = await restClient();
  const place = { size: 10, dataCenterId: "EU-RO-1" };
  const { body: volume } = await rest("POST", "/networkvolumes", { name: "v", ...place });
  const path = method === "POST" ? "/networkvolumes" : `/networkvolumes/${volume.id}`;
  const body = { name: "a\u0007b", ...(method === "POST" && place) };
  const refused = { code: "invalid_input", message: expect.stringMatching(/^name: /) };
  expect(await rest(method, path, body)).toMatchObject({ status: 400, body: refused });
});

test("there are no pods yet, and none can be created", async ({ expect }) => {
  const rest = await restClient();
  expect(await rest("GET", "/pods")).toMatchObject({ status: 200, body: [] });
  for (const [method, path] of [
    ["GET", "/pods/p"],
    ["PATCH", "/pods/p"],
    ["DELETE", "/pods/p"],
    ["POST", "/pods/p/stop"],
  ] as const) {
    expect(await rest(method, path)).toMatchObject({ status: 404, body: { code: "pod_not_found" } });
  }
  const made = await rest("POST", "/pods", {
    imageName: "x",
    gpuTypeIds: ["NVIDIA L4"],
    minCudaVersion: "12.8",
  });
  expect(made.status).toBe(503);
  expect(made.body.message).toContain("no longer any instances available");
  const nowhere = await rest("POST", "/pods", { imageName: "x", dataCenterIds: ["MOON-1"] });
  expect(nowhere).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^dataCenterIds\[0\]: /) },
  });
});

test("nothing is billed", async ({ expect }) => {
  const rest = await restClient();
  for (const noun of ["pods", "endpoints", "networkvolumes"]) {
    expect(await rest("GET", `/billing/${noun}?bucketSize=day`)).toMatchObject({ status: 200, body: [] });
  }
});

test("what is not there is a 404 in the same shape, and a large body a 413", async ({ expect }) => {
  const rest = await restClient();
  expect(await rest("GET", "/nothing")).toMatchObject({
    status: 404,
    body: { code: "not_found", status: 404 },
  });
  const large = await rest("POST", "/templates", {
    name: "t",
    imageName: "i",
    readme: "x".repeat(1_000_001),
  });
  expect(large).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
});
