/** OpenAI's routes of a queue endpoint: a job for each call, and its answer as OpenAI's clients read it. */
import { CHANNEL_WAIT_MAX_MS } from "../../src/gateway/wake-up.ts";
import { beforeEach, describe, test } from "vitest";
import { OPENAI_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { RATE_LIMITS } from "../../src/contract/rate-limits.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, channelsOf, evict, noChannelOf } from "./object.ts";
import { payloadKeys } from "./payload-bucket.ts";
import { CHAT, Engine, QUESTION } from "./openai-engine.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

const ANSWER = { id: "chatcmpl-1", choices: [{ message: { content: "Hi" } }], usage: { total_tokens: 2 } };

describe("an answer in one piece", () => {
  test("is the first thing that the worker yielded; the job's id is the id of the request", async ({
    expect,
  }) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    const job = await engine.take();
    expect(job.input).toEqual({ openai_route: CHAT, openai_input: QUESTION });
    await engine.complete(job, [ANSWER]);
    const { status, body, headers } = await asked;
    expect({ status, body }).toEqual({ status: 200, body: ANSWER });
    expect(headers.get("X-Request-Id")).toBe(job.id);
    expect(await engine.statusOf(job.id)).toBe("COMPLETED");
  });

  test.each([
    ["what a handler returned that does not yield", ANSWER],
    ["JSON text, as some engines yield it", [JSON.stringify(ANSWER)]],
    ["JSON text in lines", JSON.stringify(ANSWER, null, 1).split("\n")],
    ["the first of a batch", [[ANSWER, "another"]]],
  ])("may be %s", async (_, output) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    await engine.complete(await engine.take(), output);
    const { status, body } = await asked;
    if (status !== 200 || JSON.stringify(body) !== JSON.stringify(ANSWER))
      throw new Error(JSON.stringify(body));
  });

  test("is what the worker streamed, if it puts nothing together", async ({ expect }) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    const job = await engine.take();
    await engine.yields(job, 1, ANSWER);
    await engine.complete(job, []);
    expect((await asked).body).toEqual(ANSWER);
  });

  test("may be large, and so may the question", async ({ expect }) => {
    const engine = await Engine.start(api);
    const question = { input: "é".repeat(300_000), stream: false };
    const asked = engine.post("/v1/embeddings", question);
    const job = await engine.take();
    expect(await payloadKeys(engine.endpointId)).toHaveLength(1);
    expect(job.input).toEqual({ openai_route: "/v1/embeddings", openai_input: question });
    const vectors = [{ data: [{ embedding: Array.from({ length: 60_000 }, (_, index) => index / 7) }] }];
    await engine.upload(job, JSON.stringify(vectors));
    expect((await asked).body).toEqual(vectors[0]);
  });

  test("is waited for beyond 90 s, outside the object, which may lose its memory", async ({ expect }) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    const job = await engine.take();
    await channelOf(engine.endpointId, "job:2");
    await evict(engine.endpointId);
    await engine.complete(job, [ANSWER]);
    expect((await asked).body).toEqual(ANSWER);
    expect(CHANNEL_WAIT_MAX_MS).toBeLessThanOrEqual(90_000);
  });

  test("arrives for a route without a body, with the query, and for unknown routes", async ({ expect }) => {
    const engine = await Engine.start(api);
    const listed = call("GET", `${engine.base}/openai/v1/models?after=a%2Fb`);
    const list = await engine.take();
    expect(list.input).toEqual({ openai_route: "/v1/models?after=a%2Fb" });
    await engine.complete(list, [{ object: "list", data: [] }]);
    expect(await listed).toMatchObject({ status: 200, body: { object: "list" } });

    const asked = engine.post("/v1/what%2Fever", { a: 1 });
    const job = await engine.take();
    expect(job.input).toEqual({ openai_route: "/v1/what%2Fever", openai_input: { a: 1 } });
    await engine.complete(job, [{ b: 2 }]);
    expect(await asked).toMatchObject({ status: 200, body: { b: 2 } });
  });
});

describe("a request that is wrong", () => {
  test("is rejected in OpenAI's error shape", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const base = `/v2/${endpointId}/openai`;
    const refused = async (method: string, path: string, body?: unknown, headers = {}) => {
      const reply = await call(method, path, body, headers);
      const { error } = reply.body as { error: { message: string } };
      expect(Object.keys(reply.body)).toEqual(["error"]);
      expect(error.message).toEqual(expect.stringMatching(/./));
      return { status: reply.status, ...error, message: undefined };
    };
    const wrong = { type: "invalid_request_error", param: null };
    expect(await refused("POST", `${base}${CHAT}`, QUESTION, { Authorization: "Bearer no" })).toEqual({
      status: 401,
      type: "authentication_error",
      param: null,
      code: "invalid_api_key",
    });
    expect(await refused("POST", `/v2/nobody/openai${CHAT}`, QUESTION)).toEqual({
      ...wrong,
      status: 404,
      code: "endpoint_not_found",
    });
    for (const body of ["{", "", `{"a":1}, "b":{}`]) {
      const reply = await refused("POST", `${base}${CHAT}`, body);
      expect(reply, body).toMatchObject({ ...wrong, param: body === "" ? "body" : null, status: 400 });
    }
    for (const body of ["[]", "1", `"text"`, "null"]) {
      expect(await refused("POST", `${base}${CHAT}`, body)).toMatchObject({ status: 400, param: "body" });
      const large = `${" ".repeat(300_000)}${body}`;
      expect(await refused("POST", `${base}${CHAT}`, large)).toMatchObject({ status: 400, param: "body" });
    }
    for (const filler of ["", "x".repeat(300_000)]) {
      const reply = await refused("POST", `${base}${CHAT}`, { filler, stream: "yes" });
      expect(reply).toMatchObject({ ...wrong, status: 400, param: "stream", code: "invalid_input" });
      const cut = `{"filler": "${filler}"}, "x": {"a": 1}`;
      expect(await refused("POST", `${base}${CHAT}`, cut)).toMatchObject({ status: 400, param: null });
    }
    const huge = "x".repeat(OPENAI_BODY_MAX_BYTES);
    expect(await refused("POST", `${base}${CHAT}`, { huge })).toMatchObject({
      ...wrong,
      status: 413,
      code: "payload_too_large",
    });
    for (const method of ["DELETE", "PUT", "PATCH"]) {
      expect(await refused(method, `${base}/v1/models/m`)).toMatchObject({ ...wrong, status: 404 });
    }
    expect((await call("HEAD", `${base}/v1/models`)).status).toBe(404);
    const { body } = await call("GET", `/v2/${endpointId}/requests`);
    expect(body).toMatchObject({ total: 0 });
  });

  test("of an endpoint that may have no workers is not waited for", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    const { status, body, headers } = await call("POST", `/v2/${endpointId}/openai${CHAT}`, QUESTION);
    expect({ status, body }).toMatchObject({
      status: 503,
      body: { error: { code: "no_worker", type: "server_error" } },
    });
    expect(headers.get("X-Should-Retry")).toBeNull();
    const { body: job } = await call("GET", `/v2/${endpointId}/status/${headers.get("X-Request-Id")}`);
    expect(job["status"]).toBe("CANCELLED");
  });
});

describe("a worker's error", () => {
  const withStatusInMessage = (error: unknown) => ({
    message: "no",
    type: "t",
    param: null,
    code: null,
    ...(error as object),
  });

  test.each([
    [
      "the text of a dict",
      `{'message': "it's", 'type': 'BadRequestError', 'param': 'n', 'code': 400}`,
      400,
      { message: "it's", type: "BadRequestError", param: "n", code: 400 },
    ],
    [
      "a dict within a dict",
      `{'error': {'message': 'no', 'type': 't', 'param': None, 'code': 404}}`,
      404,
      withStatusInMessage({ code: 404 }),
    ],
    [
      "an invalid status",
      `{'message': 'no', 'type': 't', 'code': 200}`,
      500,
      withStatusInMessage({ code: 200 }),
    ],
    ["words", "CUDA error", 500, { message: "CUDA error", type: "server_error", param: null, code: null }],
    [
      "what an engine behind it said",
      `{'message': 'vLLM returned HTTP 404: {"error":{"message":"no","type":"NotFoundError","param":"model","code":404}}', 'type': 'worker_error', 'code': None}`,
      404,
      { message: "no", type: "NotFoundError", param: "model", code: 404 },
    ],
  ])("may be %s", async (_, text, status, error) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    await engine.fail(await engine.take(), text);
    const { status: answered, body, headers } = await asked;
    if (answered !== status || JSON.stringify(body) !== JSON.stringify({ error }))
      throw new Error(JSON.stringify(body));
    if (headers.get("X-Should-Retry") !== "false") throw new Error("A job that failed would be sent again.");
  });

  test("may come as an output; one that asks for patience may be tried again", async ({ expect }) => {
    const engine = await Engine.start(api);
    const asked = engine.post(CHAT, QUESTION);
    await engine.complete(await engine.take(), [
      { object: "error", message: "no", type: "NotFoundError", param: null, code: 404 },
    ]);
    expect(await asked).toMatchObject({
      status: 404,
      body: { error: { message: "no", type: "NotFoundError", param: null, code: 404 } },
    });
    const again = engine.post(CHAT, QUESTION);
    await engine.fail(await engine.take(), "{'message': 'full', 'type': 'overloaded', 'code': 429}");
    const { status, headers } = await again;
    expect([status, headers.get("X-Should-Retry")]).toEqual([429, null]);
  });

  test("is a 500 when there is no answer, and a 409 when another client cancels the job", async ({
    expect,
  }) => {
    const engine = await Engine.start(api);
    const empty = engine.post(CHAT, QUESTION);
    await engine.complete(await engine.take(), null);
    expect(await empty).toMatchObject({ status: 500, body: { error: { code: "no_answer" } } });
    const cancelled = engine.post(CHAT, QUESTION);
    const { id } = await engine.take();
    await call("POST", `${engine.base}/cancel/${id}`);
    expect(await cancelled).toMatchObject({ status: 409, body: { error: { code: "job_cancelled" } } });
  });
});

describe("a client that hangs up", () => {
  test("has its job cancelled, running or queued", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(QUESTION);
    const job = await engine.take();
    await channelOf(engine.endpointId, "job:2");
    const behind = engine.ask(QUESTION);
    await channelOf(engine.endpointId, "job:3");
    await Promise.all([client.disconnect(), behind.disconnect()]);
    await engine.until(job.id, "CANCELLED");
    await noChannelOf(engine.endpointId, "job");
    const { stops } = await engine.agent.exchange(engine.endpointId);
    expect(stops).toEqual([{ jobId: job.id, attempt: job.attempt, reason: "cancelled" }]);
    const { body } = await call("GET", `${engine.base}/requests?status=CANCELLED`);
    expect(body["total"]).toBe(2);
  });

  test("finds its job again by the key that it named", async ({ expect }) => {
    const engine = await Engine.start(api);
    const headers = { "Idempotency-Key": "once" };
    const asked = engine.post(CHAT, QUESTION, headers);
    const job = await engine.take();
    const again = engine.post(CHAT, QUESTION, headers);
    await channelsOf(engine.endpointId, "job:2", 2);
    await engine.complete(job, [ANSWER]);
    for (const { headers: answered, body } of await Promise.all([asked, again])) {
      expect([answered.get("X-Request-Id"), body]).toEqual([job.id, ANSWER]);
    }
  });
});

test("requests, streamed or not, have a limit of their own, and hold a slot while they wait", async ({
  expect,
}) => {
  const engine = await Engine.start(api);
  const half = (RATE_LIMITS.openai.concurrent ?? 0) / 2;
  const questions = [QUESTION, { ...QUESTION, stream: true }];
  const clients = questions.flatMap((question) => Array.from({ length: half }, () => engine.ask(question)));
  await channelsOf(engine.endpointId, "job", half);
  await channelsOf(engine.endpointId, "stream", half);
  for (const question of questions) {
    const { status, body, headers } = await engine.post(CHAT, question);
    expect({ status, body }).toMatchObject({
      status: 429,
      body: { error: { type: "rate_limit_error", code: "rate_limit_exceeded", param: null } },
    });
    expect(headers.get("Retry-After")).toBe("1");
  }
  const { body } = await call("GET", `${engine.base}/health`);
  expect(body).toMatchObject({
    usage: { operations: { openai: { concurrent: 2 * half }, stream: { requests: 0, concurrent: 0 } } },
  });
  expect((await call("POST", `${engine.base}/runsync?wait=1000`, { input: 1 })).status).toBe(200);
  await call("POST", `${engine.base}/purge-queue`);
  const statuses = await Promise.all(clients.map(async ({ response }) => (await response).status));
  expect(new Set(statuses)).toEqual(new Set([409]));
});
