/**
 * Every operation with good and bad input, over HTTP: what is sent, and what is answered. The tables are the
 * contract; a reply that differs from them is a fault of the edge.
 */
import { exports } from "cloudflare:workers";
import { describe, test as base } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { holding, issueAt } from "./message-facts.ts";
import { EdgeClient } from "./edge-client.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

type Reply = Awaited<ReturnType<typeof call>>;

/** HTTP status and, of an error, its code and what its message says. */
type Answer = "200" | readonly [number, string, RegExp?];

const NO_KEY: Answer = [401, "unauthorized", holding("Authorization: Bearer")];
const WRONG_KEY: Answer = [401, "unauthorized", /^(?!.*Bearer)/];
const NO_ENDPOINT: Answer = [404, "endpoint_not_found"];
const WRONG_TYPE: Answer = [400, "wrong_endpoint_type"];
const NO_OPERATION: Answer = [404, "not_found"];
const NO_JOB: Answer = [404, "job_not_found"];
const NOT_RETRYABLE: Answer = [409, "job_not_retryable", holding("COMPLETED", "FAILED", "TIMED_OUT")];
const TOO_LARGE: Answer = [413, "payload_too_large", /\d MB/];
const invalid = (message: RegExp): Answer => [400, "invalid_input", message];

/** Each operation, and what it answers when all is well. JOB is the id of a completed job. */
const OPERATIONS: readonly (readonly [method: string, path: string, answer: Answer])[] = [
  ["POST", "run", "200"],
  ["POST", "runsync?wait=1000", "200"],
  ["GET", "status/JOB", "200"],
  ["POST", "status/JOB", "200"],
  ["GET", "status-sync/JOB", "200"],
  ["POST", "status-sync/JOB", "200"],
  ["GET", "stream/JOB", "200"],
  ["POST", "stream/JOB", "200"],
  ["POST", "cancel/JOB", "200"],
  ["POST", "retry/JOB", NOT_RETRYABLE],
  ["POST", "purge-queue", "200"],
  ["DELETE", "trial", "200"],
  ["GET", "requests", "200"],
  ["GET", "health", "200"],
  ["GET", "metrics", "200"],
];

/** Who calls, and the answer; null for that of a call where all is well. KEY is the key of the account. */
const CALLERS: readonly (readonly [who: string, headers: Record<string, string>, answer: Answer | null])[] = [
  ["the key without Bearer", { Authorization: "KEY" }, null],
  ["the key after bearer in small letters", { Authorization: "bearer KEY" }, null],
  ["no key", { Authorization: "" }, NO_KEY],
  ["an empty key", { Authorization: "Bearer " }, NO_KEY],
  ["a wrong key", { Authorization: "Bearer nope" }, WRONG_KEY],
  ["a host token", { Authorization: "Bearer erh_1" }, WRONG_KEY],
  ["a join token", { Authorization: "Bearer erj_1" }, WRONG_KEY],
  ["another content type", { "Content-Type": "text/plain" }, null],
  ["a request id and an odd user agent", { "X-Request-ID": "a", "User-Agent": "\u007f" }, null],
];

/** Methods that an operation does not have, and paths that are none. */
const NO_OPERATIONS: readonly (readonly [method: string, path: string])[] = [
  ...["GET", "PUT", "PATCH", "DELETE"].flatMap((method) =>
    ["run", "runsync", "cancel/JOB", "retry/JOB", "purge-queue"].map((path) => [method, path] as const),
  ),
  ...["PUT", "PATCH", "DELETE"].flatMap((method) =>
    ["status/JOB", "status-sync/JOB", "stream/JOB", "requests", "health", "metrics"].map(
      (path) => [method, path] as const,
    ),
  ),
  ["POST", "health"],
  ["POST", "requests"],
  ["POST", "metrics"],
  ["GET", ""],
  ["GET", "status"],
  ["GET", "status/"],
  ["GET", "status/JOB/more"],
  ["POST", "cancel"],
  ["POST", "RUN"],
  ["POST", "fly"],
];

/** Ids that name no job, though some look much like one. */
const NO_IDS: readonly (readonly [what: string, change: (id: string) => string])[] = [
  ["a word", () => "hello"],
  ["an escaped slash", (id) => `..%2F${id}`],
  ["a broken escape", () => "%E0%A4%A"],
  ["a NUL", (id) => `${id}%00`],
  ["a very long id", (id) => id.repeat(100)],
  ["another sequence number", (id) => `${id.startsWith("0") ? "1" : "0"}${id.slice(1)}`],
  ["another nonce", (id) => id.replace(/.-s0$/, (end) => (end === "0-s0" ? "1-s0" : "0-s0"))],
  ["another shard", (id) => id.replace(/-s0$/, "-s1")],
  ["the id of a runsync job", (id) => `sync-${id}`],
  ["capital letters", (id) => id.toUpperCase()],
  ["no shard", (id) => id.replace(/-s0$/, "")],
];

const DAYS_7 = 604_800_000;
const text = (length: number) => "x".repeat(length);
const url = (length: number) => `https://a.example/${text(length - 18)}`;
/** A body of so many bytes. */
const bytes = (count: number) => `{"input":"${text(count - 12)}"}`;
const policy = (member: string, value: unknown) => ({ input: 1, policy: { [member]: value } });
const s3 = (member: string, value: unknown) => ({ input: 1, s3Config: { [member]: value } });

/** Bodies of run and runsync. Text is sent as it is. */
const BODIES: readonly (readonly [what: string, body: unknown, answer: Answer])[] = [
  ["nothing", undefined, invalid(issueAt("input"))],
  ["blanks", "  \n", invalid(issueAt("input"))],
  ["no JSON", "{nope", invalid(/JSON/)],
  ["JSON and more", '{"input":1}}', invalid(/JSON/)],
  ["a form", "input=1", invalid(/JSON/)],
  ["null", "null", invalid(issueAt("input"))],
  ["a list", [], invalid(/JSON/)],
  ["a text", '"input"', invalid(/JSON/)],
  ["a number", "1", invalid(/JSON/)],
  ["no input", { policy: {} }, invalid(issueAt("input"))],
  ["input of another name", { Input: 1 }, invalid(issueAt("input"))],
  ["JSON after a byte order mark", '\uFEFF{"input":1}', "200"],

  ["input null", { input: null }, "200"],
  ["input false", { input: false }, "200"],
  ["input {}", { input: {} }, "200"],
  ["input a list", { input: [1, [2]] }, "200"],
  ["input with a member __proto__", '{"input":{"__proto__":{"a":1}}}', "200"],
  ["unknown members", { input: 1, batchId: "x", policy: { more: 1 }, s3Config: { more: 1 } }, "200"],

  ["webhook null", { input: 1, webhook: null }, "200"],
  ["webhook empty", { input: 1, webhook: "" }, "200"],
  ["webhook http", { input: 1, webhook: "http://a.example" }, "200"],
  ["webhook ftp", { input: 1, webhook: "ftp://a.example" }, invalid(issueAt("webhook", "http"))],
  ["webhook a path", { input: 1, webhook: "/hook" }, invalid(issueAt("webhook", "http"))],
  ["webhook a number", { input: 1, webhook: 5 }, invalid(issueAt("webhook"))],
  ["webhook a list", { input: 1, webhook: ["https://a.example"] }, invalid(issueAt("webhook"))],
  ["webhook of 4096 characters", { input: 1, webhook: url(4_096) }, "200"],
  ["webhook of 4097", { input: 1, webhook: url(4_097) }, invalid(issueAt("webhook", 4_096))],

  ["policy null", { input: 1, policy: null }, "200"],
  ["policy {}", { input: 1, policy: {} }, "200"],
  ["policy a text", { input: 1, policy: "fast" }, invalid(issueAt("policy"))],
  ["policy a list", { input: 1, policy: [] }, invalid(issueAt("policy"))],
  ["executionTimeout null", policy("executionTimeout", null), "200"],
  ["executionTimeout 5000", policy("executionTimeout", 5_000), "200"],
  [
    "executionTimeout 4999",
    policy("executionTimeout", 4_999),
    invalid(issueAt("policy.executionTimeout", 5_000)),
  ],
  ["executionTimeout 7 days", policy("executionTimeout", DAYS_7), "200"],
  [
    "executionTimeout 7 days and 1 ms",
    policy("executionTimeout", DAYS_7 + 1),
    invalid(issueAt("policy.executionTimeout", 604_800_000)),
  ],
  ["executionTimeout 0", policy("executionTimeout", 0), invalid(issueAt("policy.executionTimeout"))],
  ["executionTimeout negative", policy("executionTimeout", -1), invalid(issueAt("policy.executionTimeout"))],
  [
    "executionTimeout 6000.5",
    policy("executionTimeout", 6_000.5),
    invalid(issueAt("policy.executionTimeout")),
  ],
  [
    "executionTimeout a text",
    policy("executionTimeout", "6000"),
    invalid(issueAt("policy.executionTimeout")),
  ],
  ["executionTimeout true", policy("executionTimeout", true), invalid(issueAt("policy.executionTimeout"))],
  [
    "executionTimeout beyond all numbers",
    '{"input":1,"policy":{"executionTimeout":1e999}}',
    invalid(issueAt("policy.executionTimeout")),
  ],
  ["ttl null", policy("ttl", null), "200"],
  ["ttl 10000", policy("ttl", 10_000), "200"],
  ["ttl 9999", policy("ttl", 9_999), invalid(issueAt("policy.ttl", 10_000))],
  ["ttl 7 days", policy("ttl", DAYS_7), "200"],
  ["ttl 7 days and 1 ms", policy("ttl", DAYS_7 + 1), invalid(issueAt("policy.ttl", 604_800_000))],
  ["ttl a text", policy("ttl", "1h"), invalid(issueAt("policy.ttl"))],
  ["ttl an object", policy("ttl", {}), invalid(issueAt("policy.ttl"))],
  ["lowPriority null", policy("lowPriority", null), "200"],
  ["lowPriority false", policy("lowPriority", false), "200"],
  ["lowPriority a text", policy("lowPriority", "true"), invalid(issueAt("policy.lowPriority"))],
  ["lowPriority 1", policy("lowPriority", 1), invalid(issueAt("policy.lowPriority"))],

  ["s3Config null", { input: 1, s3Config: null }, "200"],
  ["s3Config {}", { input: 1, s3Config: {} }, "200"],
  ["s3Config a text", { input: 1, s3Config: "s3://a" }, invalid(issueAt("s3Config"))],
  ["s3Config a list", { input: 1, s3Config: [] }, invalid(issueAt("s3Config"))],
  ...["accessId", "accessSecret", "bucketName", "endpointUrl", "objectPath"].flatMap(
    (member): readonly (readonly [string, unknown, Answer])[] => [
      [`s3Config.${member} null`, s3(member, null), "200"],
      [`s3Config.${member} empty`, s3(member, ""), "200"],
      [`s3Config.${member} of 4096 characters`, s3(member, text(4_096)), "200"],
      [`s3Config.${member} of 4097`, s3(member, text(4_097)), invalid(issueAt(`s3Config.${member}`, 4_096))],
      [`s3Config.${member} a number`, s3(member, 5), invalid(issueAt(`s3Config.${member}`))],
    ],
  ),
];

/** Queries and headers: what is sent, and what is answered. */
const QUERIES: readonly (readonly [
  method: string,
  path: string,
  answer: Answer,
  headers?: Record<string, string>,
])[] = [
  ...["runsync", "status/JOB", "status-sync/JOB", "stream/JOB"].flatMap(
    (path): readonly (readonly [string, string, Answer])[] => {
      const method = path === "runsync" ? "POST" : "GET";
      return [
        [method, `${path}?wait=1000`, "200"],
        [method, `${path}?wait=999`, invalid(issueAt("wait", 1_000))],
        [method, `${path}?wait=300001`, invalid(issueAt("wait", 300_000))],
        [method, `${path}?wait=0`, invalid(issueAt("wait", 1_000))],
        [method, `${path}?wait=-1`, invalid(issueAt("wait", 1_000))],
        [method, `${path}?wait=1000.5`, invalid(issueAt("wait"))],
        [method, `${path}?wait=soon`, invalid(issueAt("wait"))],
        [method, `${path}?wait=1000&wait=soon`, "200"],
        [method, `${path}?wait=1000&more=1`, "200"],
      ];
    },
  ),
  ...["status/JOB", "status-sync/JOB", "stream/JOB"].flatMap(
    (path): readonly (readonly [string, string, Answer])[] => [
      ["GET", `${path}?wait=300000`, "200"],
      ["POST", `${path}?wait=`, "200"],
    ],
  ),
  ["POST", "run?wait=soon", "200"],
  ["GET", "requests?limit=1", "200"],
  ["GET", "requests?limit=500", "200"],
  ["GET", "requests?limit=0", invalid(issueAt("limit", 1))],
  ["GET", "requests?limit=501", invalid(issueAt("limit", 500))],
  ["GET", "requests?limit=many", invalid(issueAt("limit"))],
  ["GET", "requests?limit=1.5", invalid(issueAt("limit"))],
  ["GET", "requests?limit=&offset=&status=", "200"],
  ["GET", "requests?offset=0", "200"],
  ["GET", "requests?offset=1000000", "200"],
  ["GET", "requests?offset=-1", invalid(issueAt("offset", 0))],
  ["GET", "requests?offset=x", invalid(issueAt("offset"))],
  ["GET", "requests?offset=0.5", invalid(issueAt("offset"))],
  ...["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"].map(
    (status): readonly [string, string, Answer] => ["GET", `requests?status=${status}`, "200"],
  ),
  ["GET", "requests?status=RUNNING", invalid(issueAt("status", "IN_QUEUE", "IN_PROGRESS"))],
  ["GET", "requests?status=completed", invalid(issueAt("status"))],
  ["GET", "requests?page=2", "200"],
  ["POST", "run", "200", { "Idempotency-Key": text(255) }],
  ["POST", "run", invalid(issueAt("Idempotency-Key", 256, 255)), { "Idempotency-Key": text(256) }],
  ["POST", "run", "200", { "Idempotency-Key": "" }],
  ["GET", "stream/JOB", "200", { Accept: "application/json" }],
  ["GET", "stream/JOB", "200", { Accept: "*/*" }],
];

type World = Awaited<ReturnType<typeof openWorld>>;

/** Endpoints of two accounts, one of them with a completed job; all tests of this file share them. */
async function openWorld() {
  await signInAsNewAccount();
  const foreignId = await createEndpoint();
  await signInAsNewAccount();
  const balancedId = await createEndpoint('type: "LB"');
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const jobId = String(body["id"]);
  const agent = await ScriptedAgent.join(api);
  const job = await agent.take(endpointId, await agent.bringUpWorker(endpointId));
  await agent.complete(endpointId, job, 1);

  /** Sends an operation, with a good body if it needs one. */
  function send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    to = endpointId,
  ): Promise<Reply> {
    const isSubmission = method === "POST" && path.startsWith("run");
    const address = `/v2/${to}/${path.replace("JOB", jobId)}`;
    return call(method, address, isSubmission ? { input: 1 } : undefined, headers);
  }
  return { foreignId, balancedId, endpointId, jobId, send };
}

const test = base.extend<{ $file: { world: World } }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
  world: [async ({}, use) => await use(await openWorld()), { scope: "file", auto: true }],
});

/** What was answered, if its form is right: JSON, and in an error four texts and no status. */
function answerOf({ status, body, headers }: Reply): unknown {
  if (!headers.get("Content-Type")?.startsWith("application/json")) return "no JSON";
  if (status === 200) return "200";
  const isWhole = Object.keys(body).toSorted().join(" ") === "code detail error title";
  if (!isWhole || body["error"] !== body["detail"]) return JSON.stringify(body);
  return [status, String(body["code"]), body["error"]];
}

function expectedAnswer(answer: Answer, expect: { stringMatching(pattern: RegExp): unknown }): unknown {
  return answer === "200" ? answer : [answer[0], answer[1], expect.stringMatching(answer[2] ?? /./)];
}

describe.for(OPERATIONS)("%s %s", ([method, path, good]) => {
  /** Two of them in ten seconds are all that an endpoint admits. */
  const ownEndpoint = async ({ endpointId }: World) =>
    path === "purge-queue" ? createEndpoint("workersMax: 0") : endpointId;

  test.for(CALLERS)("from %s", async ([, given, answer], { expect, world }) => {
    const headers = { ...given };
    if (given["Authorization"]) headers["Authorization"] = given["Authorization"].replace("KEY", api.key);
    const reply = await world.send(method, path, headers, await ownEndpoint(world));
    expect(answerOf(reply)).toEqual(expectedAnswer(answer ?? good, expect));
  });

  test("to endpoints that are unknown, another account's, or of another type", async ({ expect, world }) => {
    const answers = [];
    for (const to of ["nosuchendpoint", world.foreignId, world.balancedId]) {
      answers.push(answerOf(await world.send(method, path, {}, to)));
    }
    const isAboutWorkers = path === "health" || path === "metrics" || path === "trial";
    const balanced: Answer = isAboutWorkers ? "200" : WRONG_TYPE;
    expect(answers).toEqual(
      [NO_ENDPOINT, NO_ENDPOINT, balanced].map((answer) => expectedAnswer(answer, expect)),
    );
  });
});

test.for(NO_OPERATIONS)("%s %s is no operation", async ([method, path], { expect, world }) => {
  expect(answerOf(await world.send(method, path))).toEqual(expectedAnswer(NO_OPERATION, expect));
});

describe.for(NO_IDS)("as an id %s", ([, change]) => {
  test.for(OPERATIONS.filter(([, path]) => path.includes("JOB")))(
    "of %s %s",
    async ([method, path], { expect, world }) => {
      const reply = await world.send(method, path.replace("JOB", change(world.jobId)));
      expect(answerOf(reply)).toEqual(expectedAnswer(NO_JOB, expect));
    },
  );
});

describe("bodies of run", () => {
  test.for(BODIES)("%s", async ([, body, answer], { expect, world }) => {
    const reply = await call("POST", `/v2/${world.endpointId}/run`, body);
    expect(answerOf(reply)).toEqual(expectedAnswer(answer, expect));
  });
});

describe("bodies of run that come in pieces, of unknown length", () => {
  // One without anything in it is told that it is no JSON.
  test.for(BODIES.filter(([what]) => what !== "nothing" && what !== "blanks"))(
    "%s",
    async ([, body, answer], { expect, world }) => {
      const text = typeof body === "string" ? body : JSON.stringify(body ?? "").replace(/^""$/, "");
      const bytes = new TextEncoder().encode(text);
      const pieces = new ReadableStream({
        start(controller) {
          for (let from = 0; from < bytes.length; from += 1_000)
            controller.enqueue(bytes.slice(from, from + 1_000));
          controller.close();
        },
      });
      const response = await exports.default.fetch(`http://edge/v2/${world.endpointId}/run`, {
        method: "POST",
        headers: { Authorization: `Bearer ${api.key}` },
        body: pieces,
      });
      const { status, headers } = response;
      expect(answerOf({ status, headers, body: await response.json() })).toEqual(
        expectedAnswer(answer, expect),
      );
    },
  );
});

describe("bodies of runsync that are refused", () => {
  test.for(BODIES.filter(([, , answer]) => answer !== "200"))(
    "%s",
    async ([, body, answer], { expect, world }) => {
      const reply = await call("POST", `/v2/${world.endpointId}/runsync?wait=1000`, body);
      expect(answerOf(reply)).toEqual(expectedAnswer(answer, expect));
    },
  );
});

test.for([
  ["run", 10_000_000],
  ["runsync?wait=1000", 20_000_000],
] as const)("a body of %s may have %d bytes, and none more", async ([operation, limit], { expect }) => {
  const to = `/v2/${await createEndpoint("workersMax: 0")}/${operation}`;
  expect(answerOf(await call("POST", to, bytes(limit)))).toBe("200");
  expect(answerOf(await call("POST", to, bytes(limit + 1)))).toEqual(expectedAnswer(TOO_LARGE, expect));
});

describe("queries and headers", () => {
  // In few calls at a time: requests admits ten in ten seconds, and runsync waits.
  test.for(QUERIES)("%s %s", async ([method, path, answer, headers], { expect, world }) => {
    const to = path.startsWith("requests") ? await createEndpoint("workersMax: 0") : world.endpointId;
    expect(answerOf(await world.send(method, path, headers, to))).toEqual(expectedAnswer(answer, expect));
  });

  test.for(["{}", "null", "{nope", '{"input":1}'])(
    "cancel, retry, purge-queue, status and stream do not mind a body: %s",
    async (body, { expect }) => {
      const to = await createEndpoint("workersMax: 0");
      const submitted = await call("POST", `/v2/${to}/run`, { input: 1 });
      const id = String(submitted.body["id"]);
      const answers = [];
      for (const operation of [
        `cancel/${id}`,
        `status/${id}`,
        `stream/${id}`,
        `retry/${id}`,
        "purge-queue",
      ]) {
        answers.push((await call("POST", `/v2/${to}/${operation}`, body)).status);
      }
      expect(answers).toEqual([200, 200, 200, 409, 200]);
    },
  );
});

test("a worker gets the members that the contract names, and no other", async ({ expect }) => {
  await signInAsNewAccount();
  const to = await createEndpoint();
  const options = {
    webhook: "https://a.example/",
    policy: { ttl: 60_000, lowPriority: false, executionTimeout: 6_000 },
    s3Config: { accessId: "a", accessSecret: "b", bucketName: "c", endpointUrl: "d", objectPath: "e" },
  };
  await call("POST", `/v2/${to}/run`, { ...options, input: { a: 1 }, batchId: "x", id: "y", attempt: 7 });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(to);
  expect(await agent.take(to, workerId)).toEqual({
    ...options,
    id: expect.stringMatching(/-s0$/),
    input: { a: 1 },
    attempt: 1,
    workerId,
    executionTimeoutMs: 6_000,
  });
});
