/** What users send and get passes the local server as it was written, over real HTTP. `PAYLOAD_RUNS` tries more texts. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, describe, test } from "vitest";
import type { LiveApp, LiveEndpoint } from "../../cli/dev/app/live-app.ts";
import { LiveCalls } from "../../cli/dev/call/live-calls.ts";
import type { LiveSession } from "../../cli/dev/session/live-session.ts";
import { answerQueueCall } from "../../cli/preview/queue/queue-answers.ts";
import { PreviewQueue } from "../../cli/preview/queue/preview-queue.ts";
import { QueueWork } from "../../cli/preview/worker/queue-work.ts";
import { Service } from "../../cli/service/service.ts";
import { TIMING } from "../../node-agent/core/timing.ts";
import { EdgeRelay } from "../../node-agent/worker-server/edge-relay.ts";
import { WorkerServer } from "../../node-agent/worker-server/worker-server.ts";
import { randomJson, seededRandom } from "../support/json-texts.ts";
import { parameter, queueEndpoint, serve } from "./support/scripted-app.ts";
import { JSON_DEPTH_MAX } from "../../src/json/json-carver.ts";

const numRuns = Number(process.env["PAYLOAD_RUNS"] ?? 40);
const SEVERAL_MB = `{"x":[${Array(40_000).fill('18446744073709551615,7.0,"\\ud800é"').join(",")}]}`;
/** Smaller values are also yielded, and shown as progress. */
const CHUNK_BYTES = 100_000;
const SIZES = [10, 100, 1_000, 10_000];
/** An object with arguments, and any value. */
const texts = fc.tuple(fc.integer(), fc.constantFrom(...SIZES)).map(([seed, sizeBytes]): [string, string] => {
  const random = seededRandom(seed);
  const text = (): string => randomJson(random, sizeBytes);
  return [`{"x":${text()} ,\n"x":${text()},"\\u00e9\\ud800": ${randomJson(random, 10)} }`, text()];
});
const EXAMPLES: [[string, string]][] = [
  [['{"seed":18446744073709551615,"cfg":7.0,"x":1e400,"z":-0}', '{"b":1,"a":-0,"b":1e400}']],
  [['{"b":1,"10":2,"2":3,"__proto__":{},"b":"\\u00e9\\/\\ud800"}', "-0.0"]],
  [[SEVERAL_MB, SEVERAL_MB]],
];

const own = { name: "own", resource: { is_load_balanced: false, functions: [], client_mode: true } };
const any = queueEndpoint("any", [parameter("rest", { kind: "var_keyword", isRequired: false })]);
const live: LiveEndpoint[] = [any, own].map((endpoint) => ({
  ...endpoint,
  code: {
    execution_type: "function",
    module: "any",
    function_name: "any",
    modules: {},
    dependencies: [],
    system_dependencies: [],
    accelerate_downloads: true,
  },
  peers: [],
  filePath: "any.py",
  line: 1,
}));

const closed: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of closed.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  closed.push({
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function post(url: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, { method: "POST", body });
  return { status: response.status, text: Buffer.from(await response.arrayBuffer()).toString() };
}

describe("flash dev", () => {
  /** A local server, what the service behind it was sent, and what that answers. */
  async function openDev() {
    const service = { received: "", answer: "" };
    const url = await listen(
      createServer((request, response) => {
        void buffer(request).then((body) => {
          const isOfJob = request.url?.includes("/runsync") || request.url?.includes("/st");
          if (request.method === "POST") service.received = body.toString();
          response.statusCode = isOfJob ? 200 : 404;
          response.end(isOfJob ? service.answer : "{}");
        });
      }),
    );
    const calls = new LiveCalls({
      service: new Service({ url, apiKey: "key", signal: new AbortController().signal }),
      app: { endpoints: async () => live, source: () => undefined } as Partial<LiveApp> as LiveApp,
      session: {
        place: async () => ({ endpointId: "e1", liveToken: "" }),
      } as Partial<LiveSession> as LiveSession,
      signal: new AbortController().signal,
    });
    const served = await serve([any, own], {
      queue: async (endpoint, call, line) => await calls.queue(endpoint, call, line),
    });
    closed.push(served);
    return { service, url: served.server.url };
  }

  test("sends inputs and answers outputs as they were written", async ({ expect }) => {
    const { service, url } = await openDev();
    const property = fc.asyncProperty(texts, async ([input, output]) => {
      service.answer = `{"id":"j","status":"COMPLETED","output":${output},"executionTime":1}`;
      const answer = await post(`${url}/any/runsync`, `{"input": ${input},"s3Config":${input}}`);
      expect(answer).toEqual({ status: 200, text: service.answer });
      expect(service.received).toMatch(/^\{"s3Config":/);
      expect(service.received.slice('{"s3Config":'.length).startsWith(input)).toBe(true);
      expect(service.received.endsWith(`"kwargs":${input}}}`)).toBe(true);

      await post(`${url}/own/runsync`, `{"input":${output} }`);
      expect(service.received).toBe(`{"input":${output}}`);
      const status = await fetch(`${url}/any/status/j`);
      expect(await status.text()).toBe(service.answer);
    });
    await fc.assert(property, { numRuns, examples: EXAMPLES });
  });
});

describe("flash deploy --preview", () => {
  /** A local server before a queue, and a worker that takes jobs and answers what it is told to. */
  async function openPreview() {
    const worker = { received: "", answer: "", shown: "" };
    const queue = new PreviewQueue({
      endpointId: "preview-any",
      executionTimeoutMs: 600_000,
      explainWait: (position) => ({ position, reason: "at_max_workers", detail: "busy" }),
      onStop: () => {},
      onQueued: () => work.feed(),
    });
    const silent = { info: () => {}, warn: () => {}, error: () => {} };
    const work: QueueWork = new QueueWork({
      ...{ workerId: "w1", queue, log: silent, timing: TIMING },
      ...{ onAsked: () => {}, onUnhealthy: () => {}, onRenew: () => {} },
    });
    const workers = new WorkerServer({
      findSession: () => ({ token: "T", calls: work }),
      relay: new EdgeRelay("http://127.0.0.1:1"),
      ...{ log: silent, timing: TIMING },
    });
    const served = await serve([any, own], {
      queue: async (_, call, line) =>
        await answerQueueCall({
          ...{ queue, call, line },
          workers: () => ({ idle: 0, initializing: 0, ready: 1, running: 0, throttled: 0, unhealthy: 0 }),
        }),
    });
    const port = await workers.listen("127.0.0.1", 0);
    const over = new AbortController();
    const runs = (async () => {
      const base = `http://127.0.0.1:${port}/T`;
      while (!over.signal.aborted) {
        const taken = await fetch(`${base}/job-take/w1?job_in_progress=0`, { signal: over.signal });
        if (taken.status !== 200) continue;
        worker.received = await taken.text();
        const { id } = JSON.parse(worker.received) as { readonly id: string };
        if (worker.answer.length < CHUNK_BYTES) {
          await post(`${base}/job-stream/w1/${id}`, `{"output" :${worker.answer}}`);
          await post(`${base}/job-done/w1/${id}`, `{"status":"IN_PROGRESS","output":${worker.answer}}`);
          worker.shown = await (await fetch(`${served.server.url}/any/status/${id}`)).text();
        }
        const done = await post(`${base}/job-done/w1/${id}`, `{"output": ${worker.answer} }`);
        if (done.status !== 200) throw new Error(done.text);
      }
    })().catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    closed.push({
      [Symbol.asyncDispose]: async () => {
        over.abort();
        await runs;
        work.close();
        await workers.close();
      },
    });
    closed.push(served);
    return { worker, url: served.server.url };
  }

  test("passes inputs, outputs, chunks and progress as they were written", async ({ expect }) => {
    const { worker, url } = await openPreview();
    const property = fc.asyncProperty(texts, async ([input, output]) => {
      worker.answer = output;
      const answer = await post(`${url}/any/runsync`, `{"input": ${input} }`);
      expect(answer.status).toBe(200);
      expect(answer.text.endsWith(output === "null" ? "}" : `,"output":${output}}`)).toBe(true);
      expect(worker.received.endsWith(`,"input":${input}}`)).toBe(true);
      if (output.length < CHUNK_BYTES) {
        expect(worker.shown.endsWith(output === "null" ? "}" : `,"output":${output}}`)).toBe(true);
        const { id } = JSON.parse(answer.text) as { readonly id: string };
        const stream = await fetch(`${url}/any/stream/${id}`);
        expect(await stream.text()).toBe(`{"status":"COMPLETED","stream":[{"output":${output}}]}`);
      }

      await post(`${url}/own/runsync`, `{"input":${output}}`);
      expect(worker.received.endsWith(`,"input":${output}}`)).toBe(true);
    });
    await fc.assert(property, { numRuns, examples: EXAMPLES });
  });

  test("rejects a body that is nested too deeply, whatever its size", async ({ expect }) => {
    const { url } = await openPreview();
    for (const levels of [JSON_DEPTH_MAX + 1, 500_000]) {
      const list = "[".repeat(levels) + "]".repeat(levels);
      expect((await post(`${url}/own/run`, `{"input":${list}}`)).status).toBe(400);
    }
  });
});
