import { describe, test } from "vitest";
import { holding, issueAt } from "./message-facts.ts";
import { EdgeClient, ROOT_API_KEY } from "./edge-client.ts";

const { call, createEndpoint, graphql } = new EdgeClient();

const endpointId = await createEndpoint();
const run = `/v2/${endpointId}/run`;
const NO_JOB = "00000000-0000-4000-8000-000000000000-s0";

describe("a refused call names what is wrong and has no job status", () => {
  const cases: readonly [string, () => ReturnType<typeof call>, number, string, RegExp][] = [
    ["malformed JSON", () => call("POST", run, "{nope"), 400, "invalid_input", /JSON/],
    ["an empty body", () => call("POST", run), 400, "invalid_input", issueAt("input")],
    ["a body that is no object", () => call("POST", run, []), 400, "invalid_input", issueAt("body")],
    [
      "no input",
      () => call("POST", run, { webhook: "https://a.example" }),
      400,
      "invalid_input",
      issueAt("input"),
    ],
    [
      "a wrong webhook",
      () => call("POST", run, { input: 1, webhook: "ftp://a" }),
      400,
      "invalid_input",
      issueAt("webhook"),
    ],
    [
      "a ttl too short",
      () => call("POST", run, { input: 1, policy: { ttl: 9 } }),
      400,
      "invalid_input",
      issueAt("policy.ttl", 10_000),
    ],
    [
      "a ttl that is a word",
      () => call("POST", run, { input: 1, policy: { ttl: "x" } }),
      400,
      "invalid_input",
      issueAt("policy.ttl"),
    ],
    [
      "an executionTimeout too long",
      () => call("POST", run, { input: 1, policy: { executionTimeout: 1e12 } }),
      400,
      "invalid_input",
      issueAt("policy.executionTimeout"),
    ],
    [
      "a wrong lowPriority",
      () => call("POST", run, { input: 1, policy: { lowPriority: "yes" } }),
      400,
      "invalid_input",
      /^policy\.lowPriority/,
    ],
    [
      "a wrong s3Config",
      () => call("POST", run, { input: 1, s3Config: { bucketName: 5 } }),
      400,
      "invalid_input",
      /^s3Config\.bucketName/,
    ],
    [
      "a wait out of range",
      () => call("GET", `/v2/${endpointId}/status/${NO_JOB}?wait=5`),
      400,
      "invalid_input",
      issueAt("wait", 1_000),
    ],
    [
      "an unknown endpoint",
      () => call("POST", "/v2/nosuchendpoint/run", { input: 1 }),
      404,
      "endpoint_not_found",
      holding("nosuchendpoint"),
    ],
    [
      "an unknown job",
      () => call("GET", `/v2/${endpointId}/status/${NO_JOB}`),
      404,
      "job_not_found",
      holding(NO_JOB),
    ],
    [
      "an invalid id",
      () => call("GET", `/v2/${endpointId}/status/hello`),
      404,
      "job_not_found",
      holding("hello"),
    ],
    [
      "cancel of an unknown job",
      () => call("POST", `/v2/${endpointId}/cancel/${NO_JOB}`, {}),
      404,
      "job_not_found",
      holding(NO_JOB),
    ],
    ["an unknown operation", () => call("POST", `/v2/${endpointId}/fly`, {}), 404, "not_found", /POST.*fly/],
    [
      "a wrong key",
      () => call("POST", run, { input: 1 }, { Authorization: "Bearer nope" }),
      401,
      "unauthorized",
      /^(?!.*Bearer)/,
    ],
    [
      "no key",
      () => call("POST", run, { input: 1 }, { Authorization: "" }),
      401,
      "unauthorized",
      holding("Authorization: Bearer"),
    ],
    [
      "a host token as key",
      () => call("POST", run, { input: 1 }, { Authorization: "Bearer erh_1" }),
      401,
      "unauthorized",
      /^(?!.*Bearer)/,
    ],
    [
      "a body over 10 MB",
      () => call("POST", run, JSON.stringify({ input: "x".repeat(10_000_001) })),
      413,
      "payload_too_large",
      /10 MB/,
    ],
    [
      "a runsync body over 20 MB",
      () => call("POST", `/v2/${endpointId}/runsync`, JSON.stringify({ input: "x".repeat(20_000_001) })),
      413,
      "payload_too_large",
      /20 MB/,
    ],
  ];
  test.for(cases)("%s", async ([, request, status, code, message], { expect }) => {
    const reply = await request();
    expect(reply.body).toEqual({
      error: expect.stringMatching(message),
      detail: expect.stringMatching(message),
      title: expect.any(String),
      code,
    });
    expect(reply.status).toBe(status);
  });
});

describe("what clients send although it looks odd is taken", () => {
  test("the bare key without Bearer", async ({ expect }) => {
    expect((await call("POST", run, { input: 1 }, { Authorization: ROOT_API_KEY })).status).toBe(200);
  });

  test("null, false and {} as input, null and empty options, unknown members", async ({ expect }) => {
    for (const body of [
      { input: null },
      { input: false },
      { input: {} },
      { input: 1, webhook: "", policy: null, extra: 1 },
    ]) {
      expect((await call("POST", run, body)).status).toBe(200);
    }
  });

  test("cancel with an empty body; status, status-sync and stream by GET and POST", async ({ expect }) => {
    const { body } = await call("POST", run, { input: 1 });
    for (const method of ["GET", "POST"]) {
      for (const operation of ["status", "status-sync", "stream"]) {
        const path = `/v2/${endpointId}/${operation}/${String(body["id"])}`;
        const wait = operation === "status" ? "" : "?wait=1000";
        expect((await call(method, path + wait)).body).toMatchObject({ status: "IN_QUEUE" });
      }
    }
    expect((await call("POST", `/v2/${endpointId}/cancel/${String(body["id"])}`)).body).toEqual({
      id: body["id"],
      status: "CANCELLED",
    });
  });

  test("cancel of a job that has ended changes nothing", async ({ expect }) => {
    const { body } = await call("POST", run, { input: 1 });
    const id = String(body["id"]);
    await call("POST", `/v2/${endpointId}/cancel/${id}`);
    expect((await call("POST", `/v2/${endpointId}/cancel/${id}`)).body).toEqual({ id, status: "CANCELLED" });
  });
});

test("a queue operation on a load-balanced endpoint says so; health answers", async ({ expect }) => {
  const balanced = await createEndpoint('type: "LB"');
  const refused = await call("POST", `/v2/${balanced}/run`, { input: 1 });
  expect(refused).toMatchObject({ status: 400, body: { code: "wrong_endpoint_type" } });
  expect((await call("GET", `/v2/${balanced}/health`)).status).toBe(200);
});

test("a deleted endpoint and its jobs are unknown", async ({ expect }) => {
  const doomed = await createEndpoint("workersMax: 0");
  const { body } = await call("POST", `/v2/${doomed}/run`, { input: 1 });
  await graphql(`mutation { deleteEndpoint(id: "${doomed}") }`);
  expect(await call("GET", `/v2/${doomed}/status/${String(body["id"])}`)).toMatchObject({
    status: 404,
    body: { code: "endpoint_not_found" },
  });
});

test("a queued job says why it waits", async ({ expect }) => {
  const closed = await createEndpoint("workersMax: 0");
  const { body } = await call("POST", `/v2/${closed}/run`, { input: 1 });
  const status = await call("GET", `/v2/${closed}/status/${String(body["id"])}`);
  expect(status.body["queue"]).toEqual({
    position: 1,
    reason: "workers_max_is_zero",
    detail: expect.stringContaining("workersMax is 0"),
  });
});
