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
import { PreviewCalls } from "../../cli/preview/preview-calls.ts";
import { Service } from "../../cli/service/service.ts";
import { randomJson, seededRandom } from "../support/json-texts.ts";
import { parameter, queueEndpoint, serve } from "./support/scripted-app.ts";

const numRuns = Number(process.env["PAYLOAD_RUNS"] ?? 40);
const SEVERAL_MB = `{"x":[${Array(40_000).fill('18446744073709551615,7.0,"\\ud800é"').join(",")}]}`;
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

/** What a service was sent last, and what it answers. */
async function openService() {
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
  return { service, url };
}

describe("flash dev", () => {
  /** A local server, and the service behind it. */
  async function openDev() {
    const { service, url } = await openService();
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
  test("sends jobs and answers them as they were written", async ({ expect }) => {
    const { service, url: serviceUrl } = await openService();
    const { signal } = new AbortController();
    const edge = new Service({ url: serviceUrl, apiKey: "key", signal });
    const served = await serve([any], new PreviewCalls(edge, new Map([["any", "e1"]]), signal));
    closed.push(served);
    const property = fc.asyncProperty(texts, async ([input, output]) => {
      service.answer = `{"id":"j","status":"COMPLETED","output":${output},"executionTime":1}`;
      const answer = await post(`${served.server.url}/any/runsync`, `{"input": ${input}}`);
      expect(answer).toEqual({ status: 200, text: service.answer });
      expect(service.received).toBe(`{"input":${input}}`);
    });
    await fc.assert(property, { numRuns, examples: EXAMPLES });
  });
});
