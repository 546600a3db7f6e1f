/** The published clients, unmodified, and every example program that they bring along, against a whole Edgerun. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { buildSchema } from "graphql";
import { afterAll, beforeAll, describe, test } from "vitest";
import { layOutJsExamples, layOutPythonExamples } from "../support/client-examples.ts";
import { ensureClientVenv } from "../support/client-venv.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { ensureMcpServer } from "../support/mcp-server.ts";
import { createEndpoint, createHelloEndpoint } from "../support/management-client.ts";
import { PythonPrograms } from "../support/python-programs.ts";
import { QueueClient } from "../support/queue-client.ts";

type Offer = {
  readonly instance: string;
  readonly price: number;
  readonly gpu: string | null;
  readonly count: number;
};

const pathOf = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));
const WORKER = `"${process.execPath}" "${pathOf("support/worker-script.mjs")}"`;
const REDIRECT = pathOf("clients/redirect.mjs");

const HEALTH = /jobs.*completed.*failed.*inProgress.*inQueue.*retried.*workers.*idle.*unhealthy/s;
const EACH_LETTER_ONCE = /^[^]*"a"[^]*"b"[^]*"c"[^]*"d"[^]*"e"[^]*"f"[^]*"g"[^"]*$/;
const CHUNKS = ["a", { token: "é" }, 3, null, ...Array.from({ length: 20 }, (_, index) => index)];

let account: AccountHost;
let python: string;
let programs: PythonPrograms;
let folder = "";
/** The identifier of an endpoint whose handler answers with its input, and of one whose handler yields. */
let endpoints: { readonly hello: string; readonly answers: string; readonly yields: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "edgerun-clients-"));
  [account, python] = await Promise.all([startAccountHost("real clients", "process"), ensureClientVenv()]);
  // The catalog shows one of the example's cards. The worker is slow enough for a program to cancel its job.
  const settings = { dockerArgs: WORKER, gpuIds: "AMPERE_16" };
  const answers = { MOCK_DELAY: "1", MOCK_CONCURRENCY: "8" };
  const yields = { ...answers, MOCK_GENERATOR: "1" };
  endpoints = {
    hello: await createHelloEndpoint(account),
    answers: await createEndpoint(account, { name: "answers", ...settings, env: answers }),
    yields: await createEndpoint(account, { name: "yields", ...settings, env: yields }),
  };
  await layOutExamples();
  programs = await PythonPrograms.start(folder, {
    HOME: join(folder, "python"),
    RUNPOD_API_BASE_URL: account.baseUrl,
    RUNPOD_ENDPOINT_BASE_URL: `${account.baseUrl}/v2`,
  });
  // One example gives its job five seconds, which a worker that has yet to start may need itself.
  await new QueueClient({ ...account, endpointId: endpoints.answers }).runsync({});
});
afterAll(async () => {
  await programs?.[Symbol.asyncDispose]();
  await account.stop();
  await rm(folder, { recursive: true, force: true });
});

async function layOutExamples(): Promise<void> {
  const ids = {
    "faster-whisper": endpoints.answers,
    sdxl: endpoints.answers,
    ENDPOINT_ID: endpoints.answers,
    gwp4kx5yd3nur1: endpoints.yields,
  };
  await layOutJsExamples(join(folder, "js"), ids);
  const placeholders = { ...ids, YOUR_API_KEY: account.apiKey };
  await layOutPythonExamples(python, join(folder, "python"), account.apiKey, placeholders);
}

/** What says to a client of test/clients where its endpoint is, and more. */
function target(endpointId: string, more: Readonly<Record<string, string>> = {}): string[] {
  const { baseUrl, apiKey } = account;
  const flags = { "base-url": `${baseUrl}/v2`, "api-key": apiKey, endpoint: endpointId, ...more };
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
}

async function runJs(file: string, endpointId: string, more = {}): Promise<string> {
  return (await execa(process.execPath, [pathOf(file), ...target(endpointId, more)], { all: true })).all;
}

async function runJsExample(name: string, endpointId: string): Promise<string> {
  const env = { EDGERUN_URL: account.baseUrl, RUNPOD_API_KEY: account.apiKey, ENDPOINT_ID: endpointId };
  const file = join(folder, "js/examples", name);
  return (await execa(process.execPath, ["--import", REDIRECT, file], { env, all: true })).all;
}

describe("the npm package runpod-sdk", () => {
  test("finds what it expects", async ({ expect }) => {
    const said = await runJs("clients/runpod-sdk.mjs", endpoints.hello);
    expect(said).toContain("ok         what is wrong is refused with its HTTP status");
  });

  test("gets each chunk once", async ({ expect }) => {
    const input = JSON.stringify({ mock_delay: 0, mock_stream: CHUNKS, mock_stream_pause: 0.05 });
    const said = await runJs("clients/stream.mjs", endpoints.answers, { input });
    expect(JSON.parse(said)).toEqual(CHUNKS);
  });

  // Before the others and alone: it purges the queue of an endpoint that they use.
  test("test.js, which does it all", async ({ expect }) => {
    // It reads the stream of its second endpoint from the first: they are one.
    const said = await runJsExample("test.js", endpoints.yields);
    const parts = ["run", "status", "cancel", "health", "purge queue", "after purge", "runSync"];
    for (const part of parts) expect(said).toContain(`${part}\n{`);
    expect(said).toMatch(/\ncancel\n\{[^}]*status: 'CANCELLED'/);
    expect(said.slice(said.lastIndexOf("stream\n"))).toMatch(EACH_LETTER_ONCE);
  });

  test.concurrent.for([
    ["stream.js", EACH_LETTER_ONCE],
    ["basic.js", /status: 'COMPLETED'.*gettysburg\.wav/s],
    ["cancel.js", /cancel resp.*status: 'CANCELLED'.*status after cancellation.*status: 'CANCELLED'/s],
    ["devServerless.js", /status: 'COMPLETED'/],
    ["errors.js", HEALTH],
    ["health.js", HEALTH],
    ["purge-queue.js", /removed: 0, status: 'completed'/],
    ["run.js", /status: 'IN_QUEUE'(.*status response){5}.*status: 'COMPLETED'.*succeeded: true/s],
    ["runSync.js", /status: 'COMPLETED'.*succeeded: true/s],
  ] as const)("%s", async ([name, expected], { expect }) => {
    expect(await runJsExample(name, endpoints.answers)).toMatch(expected);
  });
});

describe("the PyPI package runpod", () => {
  test("finds what it expects, sync and asyncio", async ({ expect }) => {
    const said = await programs.run(pathOf("clients/runpod_client.py"), target(endpoints.hello));
    expect(said).toContain("ok         asyncio: health: counts are ints");
  });

  test("gets each chunk once and ends, sync and asyncio", async ({ expect }) => {
    const input = JSON.stringify({ mock_delay: 0, mock_stream: CHUNKS, mock_stream_pause: 0.05 });
    const said = await programs.run(pathOf("clients/stream_client.py"), target(endpoints.answers, { input }));
    expect(JSON.parse(said)).toEqual({ sync: CHUNKS, asyncio: CHUNKS });
  });

  test("finds what it expects with every function of its api module", async ({ expect }) => {
    const flags = ["--base-url", account.baseUrl, "--api-key", account.apiKey];
    const said = await programs.run(pathOf("clients/runpod_api.py"), flags);
    expect(said).toContain("ok         every function of the module was called");
  });

  test.concurrent.for([
    ["streaming.py", /^a\nb\nc\nd\ne\nf\ng\n$/],
    // It waits for 0 s, so it gives up whenever the job is not over at its first look.
    ["asyncio_job_request.py", /^(IN_QUEUE|IN_PROGRESS)\n[^]*TimeoutError: Job timed out\.\n/],
    ["health.py", HEALTH],
    ["run.py", /^(IN_QUEUE|IN_PROGRESS)\nNone\n\{'prompt': 'a photo of a horse/],
    ["run_sync.py", /^\{'prompt': 'a photo of a horse/],
  ] as const)("%s", async ([name, expected], { expect }) => {
    expect(await programs.run(join(folder, "python/examples", name))).toMatch(expected);
  });
});

test("version 2 of the PyPI package runpod finds what it expects, over REST v2", async ({ expect }) => {
  const flags = ["--base-url", account.baseUrl, "--api-key", account.apiKey];
  const newer = await ensureClientVenv("clients-v2");
  const env = { HOME: join(folder, "python") };
  const { all } = await execa(newer, [pathOf("clients/runpod_v2.py"), ...flags], { env, all: true });
  expect(all).toContain("ok         all was called");
});

test("the npm package @runpod/mcp-server finds what it expects with its tools", async ({ expect }) => {
  const said = await runJs("clients/mcp-tools.mjs", endpoints.hello, {
    "base-url": account.baseUrl,
    server: await ensureMcpServer(),
  });
  expect(said).toContain("ok         all was called");
});

test("a GraphQL client tool reads the schema by introspection, and sends a document", async ({ expect }) => {
  const tool = join(dirname(python), "gql-cli");
  const flags = [`${account.baseUrl}/graphql`, "-H", `Authorization:Bearer ${account.apiKey}`];
  const { stdout } = await execa(tool, [...flags, "--print-schema"]);
  const schema = buildSchema(stdout);
  expect(schema.getMutationType()?.getFields()).toHaveProperty("saveEndpoint");

  expect(schema.getMutationType()?.getFields()["saveEndpoint"]?.description).toBeTruthy();

  const document = "query Mine($id: String) { myself { endpoint(id: $id) { id name } } }";
  const answer = await execa(tool, [...flags, "-V", `id:"${endpoints.hello}"`], { input: document });
  expect(JSON.parse(answer.stdout)).toMatchObject({ myself: { endpoint: { id: endpoints.hello } } });
});

test("the PyPI package gpuhunt finds the cards and CPU sizes of the hosts, without a key", async ({
  expect,
}) => {
  const said = await programs.run(pathOf("clients/gpuhunt_catalog.py"), ["--base-url", account.baseUrl]);
  const offers = JSON.parse(said) as readonly Offer[];
  const card = offers.find(({ instance, count }) => instance === "NVIDIA GeForce RTX 4090" && count === 1);
  expect(card).toMatchObject({ gpu: "RTX4090", price: expect.toSatisfy((price: number) => price > 0) });
  expect(offers.some(({ instance }) => /^cpu\d[a-z]-\d+-\d+$/.test(instance))).toBe(true);
});
