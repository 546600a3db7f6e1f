import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import {
  INLINE_PAYLOAD_MAX_BYTES,
  RUN_BODY_MAX_BYTES,
  RUNSYNC_BODY_MAX_BYTES,
} from "../../src/contract/limits.ts";
import { ANSWER_INPUTS_MAX_BYTES } from "../../src/endpoint/dispatch/dispatch.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { configure, fireAlarm, passTime } from "./object.ts";
import { bucketIsEmpty, inPieces, payloadKeys } from "./payload-bucket.ts";
import { issueAt } from "./message-facts.ts";
import { RUN_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";
import { JSON_DEPTH_MAX } from "../../src/json/json-carver.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const LARGE = "é".repeat(INLINE_PAYLOAD_MAX_BYTES / 2);

/** An endpoint with a worker that takes jobs. */
async function readyEndpoint() {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 5");
  const agent = await ScriptedAgent.join(api);
  return { endpointId, agent, workerId: await agent.bringUpWorker(endpointId) };
}

/** Submits a body as the bytes that it is; `pieces`: without saying how long it is. */
async function submit(endpointId: string, body: BodyInit, operation = "run", headers = {}) {
  const response = await exports.default.fetch(`http://edge/v2/${endpointId}/${operation}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${api.key}`, ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Record<string, string> };
}

const bodies: readonly [string, (text: string) => BodyInit][] = [
  ["that says how long it is", (text) => text],
  ["that does not", (text) => inPieces(text)],
];

describe.for(bodies)("a large body %s", ([, encode]) => {
  test("brings its input to the worker, wherever it stands in the body", async ({ expect }) => {
    const { endpointId, agent, workerId } = await readyEndpoint();
    const input = { text: LARGE, list: [1, null, { a: "\n" }] };
    const policy = { ttl: 20_000, executionTimeout: 9_000 };
    const s3Config = { bucketName: "b" };
    const bodies = [
      { input, policy, s3Config },
      { policy, s3Config, input },
      { s3Config, unknown: [{ input: 1 }], input, policy },
    ];
    for (const body of bodies) {
      const { status } = await submit(endpointId, encode(JSON.stringify(body, null, 2)));
      expect(status).toBe(200);
      expect(await payloadKeys(endpointId)).toHaveLength(1);
      const job = await agent.take(endpointId, workerId);
      expect(job).toMatchObject({ input, policy, s3Config, executionTimeoutMs: 9_000 });
      await agent.complete(endpointId, job, "ok");
      passTime(30_000);
      await fireAlarm(endpointId);
      await bucketIsEmpty(endpointId);
    }
  });

  test("leaves nothing behind when it is refused", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const input = JSON.stringify(LARGE);
    const cases = [
      [`{"input":${input}`, "invalid_input", /JSON.* byte \d+/],
      [`{"input":${input}}}`, "invalid_input", /JSON.* byte \d+/],
      [`{"input":[${input},]}`, "invalid_input", /JSON/],
      [`[${input}]`, "payload_too_large", /beside input/],
      [`{"inputs":${input}}`, "payload_too_large", /beside input/],
      [`{"input":${input},"input":1}`, "invalid_input", issueAt("input")],
      [`{"input":${input},"policy":{"ttl":9}}`, "invalid_input", issueAt("policy.ttl")],
      [`{"webhook":"ftp://a","input":${input}}`, "invalid_input", issueAt("webhook")],
    ] as const;
    for (const [body, code, message] of cases) {
      const refused = await submit(endpointId, encode(body));
      expect(refused.body).toMatchObject({ code, error: expect.stringMatching(message) });
      expect(await payloadKeys(endpointId)).toEqual([]);
    }
  });

  test("may have as many bytes as the limit, and not one more", async ({ expect }) => {
    const { endpointId, agent, workerId } = await readyEndpoint();
    const ofSize = (sizeBytes: number) => `{"input":"${"x".repeat(sizeBytes - 12)}"}`;
    for (const [operation, maxBytes] of [
      ["run", RUN_BODY_MAX_BYTES],
      ["runsync", RUNSYNC_BODY_MAX_BYTES],
    ] as const) {
      expect((await submit(endpointId, encode(ofSize(maxBytes + 1)), operation)).status).toBe(413);
      expect(await payloadKeys(endpointId)).toEqual([]);
      const submitted = submit(endpointId, encode(ofSize(maxBytes)), operation);
      const job = await agent.take(endpointId, workerId);
      expect(job.input === "x".repeat(maxBytes - 12)).toBe(true);
      expect(await agent.complete(endpointId, job, "ok")).toBe("accepted");
      expect(await submitted).toMatchObject({ status: 200, body: { id: job.id } });
      passTime(RUN_RETENTION_MS + 10_000);
      await fireAlarm(endpointId);
      await bucketIsEmpty(endpointId);
    }
  });
});

describe("a large body", () => {
  test("with a small input keeps it out of R2", async ({ expect }) => {
    const { endpointId, agent, workerId } = await readyEndpoint();
    const space = " ".repeat(INLINE_PAYLOAD_MAX_BYTES / 2);
    const input = `["${"x".repeat(INLINE_PAYLOAD_MAX_BYTES - 4)}"]`;
    const { status } = await submit(endpointId, `{"input":${space}${input},"policy":{}}`);
    expect(status).toBe(200);
    expect(await payloadKeys(endpointId)).toEqual([]);
    expect(await agent.take(endpointId, workerId)).toMatchObject({ input: JSON.parse(input) });
  });

  test("of a client that hangs up leaves nothing behind", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const begun = `{"input":"${"x".repeat(7_000_000)}`;
    expect((await submit(endpointId, inPieces(begun, "broken"))).status).toBe(400);
    expect(await payloadKeys(endpointId)).toEqual([]);
  });

  test("is dropped when its idempotency key is known", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const headers = { "Idempotency-Key": "one" };
    const first = await submit(endpointId, JSON.stringify({ input: LARGE }), "run", headers);
    const kept = await payloadKeys(endpointId);
    const second = await submit(endpointId, JSON.stringify({ input: LARGE }), "run", headers);
    expect(second.body["id"]).toBe(first.body["id"]);
    await until(async () => {
      expect(await payloadKeys(endpointId)).toEqual(kept);
      return true;
    }, "the second input is dropped");
  });

  test("is dropped when the queue is full", async ({ expect }) => {
    const endpointId = await createEndpoint();
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await configure(endpointId, { queueDepthMax: 1 });
    expect((await submit(endpointId, JSON.stringify({ input: LARGE }))).status).toBe(429);
    await bucketIsEmpty(endpointId);
  });

  test("does not begin a job on an endpoint that is not there", async ({ expect }) => {
    const { status } = await submit("nosuchendpoint", JSON.stringify({ input: LARGE }));
    expect(status).toBe(404);
    expect(await payloadKeys("nosuchendpoint")).toEqual([]);
  });
});

describe("an answer to an agent", () => {
  test("brings no further job once its inputs are large together", async ({ expect }) => {
    const { endpointId, agent, workerId } = await readyEndpoint();
    const input = "x".repeat(ANSWER_INPUTS_MAX_BYTES * 0.45);
    for (let count = 0; count < 4; count += 1) await submit(endpointId, JSON.stringify({ input }));
    const slots = [{ workerId, free: 4 }];
    const first = await agent.exchange(endpointId, { slots });
    expect(first.jobs.map((job) => job.input)).toEqual([input, input, input]);
    const second = await agent.exchange(endpointId, { slots: [{ workerId, free: 1 }] });
    expect(second.jobs.map((job) => job.input)).toEqual([input]);
  });

  test("is whole although an input in it was removed", async ({ expect }) => {
    const { endpointId, agent, workerId } = await readyEndpoint();
    await submit(endpointId, JSON.stringify({ input: LARGE }));
    await submit(endpointId, JSON.stringify({ input: [LARGE] }));
    const [gone = ""] = await payloadKeys(endpointId);
    const rest = await (await env.PAYLOADS.get((await payloadKeys(endpointId))[1] ?? ""))?.json();
    await env.PAYLOADS.delete(gone);
    const { jobs } = await agent.exchange(endpointId, { slots: [{ workerId, free: 2 }] });
    expect(new Set(jobs.map((job) => job.input))).toEqual(new Set([null, rest]));
  });
});

describe("nesting has the same limit", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const bodies: readonly [what: string, operation: string, body: (depth: number) => string][] = [
    ["a small body", "run", (depth) => `{"input":${nested(depth)}}`],
    ["a large body", "run", (depth) => `{"input":["${LARGE}",${nested(depth - 1)}]}`],
    ["a batch", "batch", (depth) => `[{"input":${nested(depth)}}]`],
    ["an object of requests", "batch", (depth) => `{"requests":[{"input":${nested(depth)}}]}`],
    ["what nobody reads", "run", (depth) => `{"input":1,"other":${nested(depth - 1)}}`],
  ];
  test.for(bodies)("in %s", async ([, operation, body], { expect }) => {
    const endpointId = await createEndpoint();
    for (const encode of [(text: string) => text, inPieces]) {
      expect(await submit(endpointId, encode(body(JSON_DEPTH_MAX)), operation)).toMatchObject({
        status: 200,
      });
      expect(await submit(endpointId, encode(body(JSON_DEPTH_MAX + 1)), operation)).toMatchObject({
        status: 400,
        body: { code: "invalid_input", error: expect.stringContaining(`${JSON_DEPTH_MAX}`) },
      });
    }
  });

  test("in a body of OpenAI's", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    for (const [depth, status] of [
      [JSON_DEPTH_MAX - 1, 503],
      [JSON_DEPTH_MAX, 400],
    ] as const) {
      const body = `{"messages":${nested(depth)}}`;
      expect((await submit(endpointId, body, "openai/v1/chat/completions")).status).toBe(status);
    }
  });
});
