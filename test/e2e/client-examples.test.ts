/** Every example program of the published clients, unmodified, against a whole Edgerun. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, test } from "vitest";
import { layOutJsExamples, layOutPythonExamples } from "../support/client-examples.ts";
import { ensureClientVenv } from "../support/client-venv.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";

const WORKER = `"${process.execPath}" "${resolve(import.meta.dirname, "../support/worker-script.mjs")}"`;
const REDIRECT = resolve(import.meta.dirname, "../clients/redirect.mjs");
/** One example sets an event loop policy that only Windows has. */
const RUN_PYTHON = `
import asyncio, runpy, sys
asyncio.WindowsSelectorEventLoopPolicy = asyncio.DefaultEventLoopPolicy
runpy.run_path(sys.argv[1], run_name="__main__")`;

const HEALTH = /jobs.*completed.*failed.*inProgress.*inQueue.*retried.*workers.*idle.*unhealthy/s;
const EACH_LETTER_ONCE = /^[^]*"a"[^]*"b"[^]*"c"[^]*"d"[^]*"e"[^]*"f"[^]*"g"[^"]*$/;

let edgerun: Edgerun;
let python = "";
let folder = "";
/** The identifier of an endpoint whose handler answers with its input, and of one whose handler yields. */
let endpoints: { readonly answers: string; readonly yields: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "edgerun-examples-"));
  [edgerun, python] = await Promise.all([startEdgerun({ runtime: "process" }), ensureClientVenv()]);
  // Long enough for a program to cancel what it has submitted.
  const answers = { MOCK_DELAY: "1", MOCK_CONCURRENCY: "8" };
  const yields = { ...answers, MOCK_GENERATOR: "1" };
  endpoints = {
    answers: await createEndpoint(edgerun, { name: "answers", dockerArgs: WORKER, env: answers }),
    yields: await createEndpoint(edgerun, { name: "yields", dockerArgs: WORKER, env: yields }),
  };
  const ids = {
    "faster-whisper": endpoints.answers,
    sdxl: endpoints.answers,
    ENDPOINT_ID: endpoints.answers,
    gwp4kx5yd3nur1: endpoints.yields,
  };
  await layOutJsExamples(join(folder, "js"), ids);
  const placeholders = { ...ids, YOUR_API_KEY: edgerun.apiKey };
  await layOutPythonExamples(python, join(folder, "python"), edgerun.apiKey, placeholders);
});
afterAll(async () => {
  await edgerun.stop();
  await rm(folder, { recursive: true, force: true });
});

async function runJs(name: string, endpointId: string): Promise<string> {
  const env = { EDGERUN_URL: edgerun.baseUrl, RUNPOD_API_KEY: edgerun.apiKey, ENDPOINT_ID: endpointId };
  const file = join(folder, "js/examples", name);
  return (await execa(process.execPath, ["--import", REDIRECT, file], { env, all: true })).all;
}

async function runPython(name: string): Promise<string> {
  const env = { HOME: join(folder, "python"), RUNPOD_ENDPOINT_BASE_URL: `${edgerun.baseUrl}/v2` };
  const file = join(folder, "python/examples", name);
  return (await execa(python, ["-c", RUN_PYTHON, file], { env, all: true, reject: false })).all;
}

/** Before the others and alone: it purges the queue of an endpoint that they use. */
describe("of the npm package runpod-sdk", () => {
  test("test.js, which does it all", async ({ expect }) => {
    // It reads the stream of its second endpoint from the first: they are one.
    const said = await runJs("test.js", endpoints.yields);
    const parts = ["run", "status", "cancel", "health", "purge queue", "after purge", "runSync"];
    for (const part of parts) expect(said).toContain(`${part}\n{`);
    expect(said).toMatch(/\ncancel\n\{[^}]*status: 'CANCELLED'/);
    expect(said.slice(said.lastIndexOf("stream\n"))).toMatch(EACH_LETTER_ONCE);
  });
});

describe.concurrent("of the npm package runpod-sdk", () => {
  test.for([
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
    expect(await runJs(name, endpoints.answers)).toMatch(expected);
  });
});

describe.concurrent("of the PyPI package runpod", () => {
  test.for([
    ["streaming.py", /^a\nb\nc\nd\ne\nf\ng$/],
    // It waits for 0 s, so it gives up whenever the job is not over at its first look.
    ["asyncio_job_request.py", /^(IN_QUEUE|IN_PROGRESS)\n[^]*TimeoutError: Job timed out\.$/],
    ["health.py", HEALTH],
    ["run.py", /^(IN_QUEUE|IN_PROGRESS)\nNone\n\{'prompt': 'a photo of a horse/],
    ["run_sync.py", /^\{'prompt': 'a photo of a horse/],
  ] as const)("%s", async ([name, expected], { expect }) => {
    expect(await runPython(name)).toMatch(expected);
  });
});
