/** The local server over real HTTP, with scripted endpoints behind it. */
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "vitest";
import { Failure } from "../../src/std/failure.ts";
import { CallFailure } from "../../cli/server/requests/served-app.ts";
import { freePort } from "../support/free-port.ts";
import { parameter, queueEndpoint, routedEndpoint, serve } from "./support/scripted-app.ts";

const hello = queueEndpoint("hello", [parameter("name"), parameter("loud", { isRequired: false })]);
const tick = queueEndpoint("tick", []);
const api = routedEndpoint("api", [
  { route: "POST /process", parameters: [parameter("text")] },
  { route: "GET /things/{id}", parameters: [parameter("id")] },
]);

test("says that it is healthy, and where the explorer is", async ({ expect }) => {
  await using served = await serve([hello]);
  const root = await served.call("GET", "/");
  expect(root).toMatchObject({ status: 200, body: { status: "healthy", docs: "/docs" } });
  expect(await served.call("GET", "/ping")).toMatchObject({ status: 200, body: { status: "healthy" } });
  expect((await served.call("HEAD", "/ping")).body).toBeUndefined();
  const options = await served.call("OPTIONS", "/");
  expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
  expect((await served.call("POST", "/ping")).status).toBe(405);
});

test("hands on a job with all that stands beside its input", async ({ expect }) => {
  await using served = await serve([hello]);
  const body = {
    input: { name: "you" },
    webhook: "https://example.com/hook",
    policy: { ttl: 20_000, lowPriority: true },
    s3Config: { bucketName: "b" },
  };
  for (const path of ["/hello/runsync?wait=2000", "/v2/hello/runsync?wait=2000"]) {
    const { body: seen } = await served.call("POST", path, body, { headers: { "Idempotency-Key": "k" } });
    expect(seen).toMatchObject({
      endpoint: "hello",
      operation: "runsync",
      search: "?wait=2000",
      headers: { "idempotency-key": "k" },
    });
    expect((seen as { body: unknown }).body).toEqual(body);
  }
});

test("knows every operation of the queue API by its path", async ({ expect }) => {
  await using served = await serve([hello]);
  const seen = async (method: string, path: string) => (await served.call(method, path)).body;
  expect(await seen("GET", "/v2/hello/status/j-1?wait=1000")).toMatchObject({
    operation: "status",
    jobId: "j-1",
    search: "?wait=1000",
  });
  expect(await seen("POST", "/hello/status/j-1")).toMatchObject({ operation: "status" });
  expect(await seen("GET", "/hello/status-sync/j-1")).toMatchObject({
    operation: "status",
    search: "?wait=90000",
  });
  expect(await seen("GET", "/hello/stream/j-1")).toMatchObject({ operation: "stream", jobId: "j-1" });
  expect(await seen("POST", "/hello/cancel/j-1")).toMatchObject({ operation: "cancel", jobId: "j-1" });
  expect(await seen("POST", "/hello/retry/j-1")).toMatchObject({ operation: "retry", jobId: "j-1" });
  expect(await seen("POST", "/hello/purge-queue")).toMatchObject({ operation: "purge-queue" });
  expect(await seen("GET", "/hello/health")).toMatchObject({ operation: "health" });
  expect(await seen("GET", "/hello/requests?limit=1")).toMatchObject({ operation: "requests" });
});

test("an invalid input is rejected with the field at fault, and nothing is called", async ({ expect }) => {
  await using served = await serve([hello, tick], {
    queue: () => {
      throw new Error("called");
    },
  });
  expect(await served.call("POST", "/hello/runsync", { input: { nane: "you" } })).toMatchObject({
    status: 422,
    body: {
      detail: [
        { loc: ["body", "input", "name"], msg: "Field required", type: "missing" },
        { loc: ["body", "input", "nane"], type: "extra_forbidden" },
      ],
    },
  });
  expect(await served.call("POST", "/hello/runsync", { name: "you" })).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "input"], type: "missing" }] },
  });
  const broken = await served.call("POST", "/hello/run", undefined, { body: "{" });
  expect(broken).toMatchObject({ status: 422, body: { detail: [{ loc: ["body"], type: "json_invalid" }] } });
  expect(served.log.lines).toContainEqual(
    expect.stringMatching(/^POST \/hello\/runsync\b.*input\.name\b.*input\.nane\b.*\bname, loud/),
  );
});

test("a function without arguments needs no body", async ({ expect }) => {
  await using served = await serve([tick]);
  for (const body of [undefined, {}, { input: {} }, { input: null }, { input: { __empty: true } }]) {
    const answer = await served.call("POST", "/tick/runsync", body);
    expect(answer).toMatchObject({ status: 200, body: { body: { input: {}, ...body } } });
  }
});

test("a route gets its request as it came", async ({ expect }) => {
  const seen: unknown[] = [];
  await using served = await serve([api], {
    route: async (_, request, path) => {
      const form = await request.formData();
      seen.push(path, new URL(request.url).search, request.headers.get("x-own"), form.get("text"));
      return new Response("made", { status: 201, headers: { "X-Answer": "yes", "Set-Cookie": "a=b" } });
    },
  });
  const form = new FormData();
  form.set("text", "ü");
  const response = await fetch(`${served.server.url}/v2/api/process?a=1`, {
    method: "POST",
    body: form,
    headers: { "X-Own": "1" },
  });
  expect([response.status, await response.text()]).toEqual([201, "made"]);
  expect([response.headers.get("x-answer"), response.headers.get("set-cookie")]).toEqual(["yes", "a=b"]);
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
  expect(seen).toEqual(["/process", "?a=1", "1", "ü"]);
});

test("OpenAI's routes of an image of one's own are the service's, and of nothing else", async ({
  expect,
}) => {
  const own = { name: "own", resource: { is_load_balanced: false, functions: [], client_mode: true } };
  await using served = await serve([hello, own], {
    openai: async (endpoint, request, path) => {
      const { search } = new URL(request.url);
      return Response.json({ endpoint: endpoint.name, path, search, body: await request.text() });
    },
  });
  const seen = { endpoint: "own", path: "/openai/v1/completions", search: "?a=1", body: '{"x":1}' };
  for (const prefix of ["", "/v2"]) {
    const answer = await served.call("POST", `${prefix}/own/openai/v1/completions?a=1`, { x: 1 });
    expect(answer).toMatchObject({ status: 200, body: seen });
  }
  expect(await served.call("POST", "/hello/openai/v1/completions", {})).toMatchObject({ status: 404 });
  await using alone = await serve([own]);
  expect(await alone.call("GET", "/own/openai/v1/models")).toMatchObject({ status: 404 });
});

test("paths keep what is encoded in them, and a slash at the end changes nothing", async ({ expect }) => {
  await using served = await serve([api]);
  expect(await served.call("GET", "/api/things/a%2Fb")).toMatchObject({ body: { path: "/things/a%2Fb" } });
  expect(await served.call("POST", "/api/process/")).toMatchObject({ body: { path: "/process/" } });
  expect(await served.call("GET", "/api/ping")).toMatchObject({ body: { path: "/ping" } });
});

test("a wrong name, path or method is answered with what there is", async ({ expect }) => {
  await using served = await serve([hello, api]);
  expect(await served.call("POST", "/helo/runsync", {})).toMatchObject({
    status: 404,
    body: { detail: 'There is no endpoint "helo". The app has api, hello.' },
  });
  expect(await served.call("POST", "/v2/helo/run", {})).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('"helo"') },
  });
  expect(await served.call("POST", "/api/runsync", {})).toMatchObject({
    status: 404,
    body: { detail: "api has no route POST /runsync. Its routes: POST /process, GET /things/{id}." },
  });
  expect(await served.call("POST", "/hello/proces", {})).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining("POST /hello/runsync") },
  });
  expect((await served.call("POST", "/hello/status/a%2Fb")).status).toBe(404);
  const wrong = await served.call("GET", "/hello/runsync");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  const wrongRoute = await served.call("DELETE", "/api/things/1");
  expect([wrongRoute.status, wrongRoute.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  const options = await served.call("OPTIONS", "/api/process");
  expect([options.status, options.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
});

test("HEAD of a route is the route's own, and its body is not asked for", async ({ expect }) => {
  const cancelled = Promise.withResolvers<void>();
  await using served = await serve([api], {
    route: (_, request) => {
      const body = new ReadableStream({ cancel: () => cancelled.resolve() });
      return new Response(body, { headers: { "X-Method": request.method } });
    },
  });
  const answer = await served.call("HEAD", "/api/things/1");
  expect([answer.status, answer.headers.get("x-method"), answer.body]).toEqual([200, "HEAD", undefined]);
  await cancelled.promise;
});

test("an endpoint that cannot be read is answered for with file and line, and the others go on", async ({
  expect,
}) => {
  const problem = "broken.py:3: SyntaxError: invalid syntax";
  const brokenApi = routedEndpoint("routes", [{ route: "GET /x" }], { problem });
  await using served = await serve([{ ...hello, problem }, tick, brokenApi]);
  for (const [method, path] of [
    ["POST", "/hello/runsync"],
    ["POST", "/v2/hello/run"],
    ["GET", "/routes/x"],
  ] as const) {
    const answer = await served.call(method, path, method === "POST" ? { input: {} } : undefined);
    expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining(problem) } });
  }
  expect(await served.call("GET", "/hello/status/j")).toMatchObject({ status: 200 });
  expect(await served.call("POST", "/tick/runsync", {})).toMatchObject({ status: 200 });
});

test("a name that is not known may be declared in a file that cannot be read, and that is said", async ({
  expect,
}) => {
  await using served = await serve([hello], {}, { problems: ["api.py:3: SyntaxError: invalid syntax"] });
  expect(await served.call("GET", "/api/x")).toMatchObject({
    status: 503,
    body: {
      detail:
        'There is no endpoint "api", as far as the app can be read: api.py:3: SyntaxError: invalid syntax',
    },
  });
  expect(await served.call("POST", "/hello/runsync", { input: { name: "a" } })).toMatchObject({
    status: 200,
  });
});

test("failures become statuses that say who is at fault", async ({ expect }) => {
  const thrown: unknown[] = [
    new CallFailure(504, "too slow"),
    new CallFailure(500, "raised", "Traceback\n  app.py:3"),
    new Failure("There is no GPU.", ["Choose another."]),
    new TypeError("bug"),
  ];
  await using served = await serve([hello], {
    queue: () => {
      throw thrown.shift();
    },
  });
  const failure = async () => {
    const { status, body } = await served.call("POST", "/hello/runsync", { input: { name: "you" } });
    return [status, (body as { detail: string }).detail];
  };
  expect(await failure()).toEqual([504, "too slow"]);
  expect(await failure()).toEqual([500, "raised"]);
  expect(await failure()).toEqual([503, "There is no GPU. Choose another."]);
  expect(await failure()).toEqual([500, "flash crashed (internal error): bug"]);
  const failed = served.log.lines.filter((line) => line.includes("fails"));
  expect(failed[1]).toBe("POST /hello/runsync fails: raised (Traceback\n  app.py:3)");
});

test("an app that cannot be read at all is a failure, not a fault", async ({ expect }) => {
  await using served = await serve(() => {
    throw new Failure("No interpreter.");
  });
  expect(await served.call("POST", "/hello/run", {})).toMatchObject({
    status: 503,
    body: { detail: "No interpreter." },
  });
  expect(await served.call("GET", "/ping")).toMatchObject({ status: 200 });
});

test("a body above the limit is rejected, whether its length is given or not", async ({ expect }) => {
  await using served = await serve([hello]);
  const url = `${served.server.url}/hello/run`;
  const told = httpRequest(url, { method: "POST", headers: { "Content-Length": 10_000_001 } });
  told.flushHeaders(); // nothing of the body is sent
  expect(await answerTo(told)).toEqual([413, { detail: expect.stringContaining("10 MB") }]);

  const untold = httpRequest(url, { method: "POST" });
  untold.write(Buffer.alloc(10_000_001, "x"));
  expect(await answerTo(untold)).toEqual([413, { detail: expect.stringContaining("10 MB") }]);
});

/** The status and the body of the answer to a request that is not ended. */
async function answerTo(outgoing: ClientRequest): Promise<readonly [number | undefined, unknown]> {
  outgoing.on("error", () => {}); // the server may hang up before all is sent
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  const body: unknown = JSON.parse(await text(answer));
  outgoing.destroy();
  return [answer.statusCode, body];
}

test("answers stream: a part arrives before the next one is made", async ({ expect }) => {
  let next = Promise.withResolvers<void>();
  await using served = await serve([api], {
    route: () => {
      const parts = ["one", "two"];
      return new Response(
        new ReadableStream({
          async pull(controller) {
            const part = parts.shift();
            if (part === undefined) return controller.close();
            if (part === "two") await next.promise;
            controller.enqueue(new TextEncoder().encode(part));
          },
        }),
        { headers: { "Content-Type": "text/event-stream" } },
      );
    },
  });
  const response = await fetch(`${served.server.url}/api/things/1`);
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("one");
  next.resolve();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("two");
});

test("a caller that goes away aborts its call, and ends the stream that it was sent", async ({ expect }) => {
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  await using served = await serve([hello, api], {
    queue: async (_, { signal }) => {
      started.resolve();
      await once(signal, "abort");
      aborted.resolve();
      throw signal.reason;
    },
    route: () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("x")),
          cancel: () => cancelled.resolve(),
        }),
      ),
  });
  const waiting = new AbortController();
  const call = fetch(`${served.server.url}/hello/runsync`, {
    method: "POST",
    body: '{"input":{"name":"you"}}',
    signal: waiting.signal,
  });
  await started.promise;
  waiting.abort();
  await expect(call).rejects.toThrow();
  await aborted.promise;

  const reading = new AbortController();
  const stream = await fetch(`${served.server.url}/api/things/1`, { signal: reading.signal });
  await stream.body?.getReader().read();
  reading.abort();
  await cancelled.promise;
  expect(served.log.lines).toContain("POST /hello/runsync fails: the caller has disconnected");
});

test("closing the server aborts what is under way", async ({ expect }) => {
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const served = await serve([hello], {
    queue: async (_, { signal }) => {
      started.resolve();
      await once(signal, "abort");
      aborted.resolve();
      throw signal.reason;
    },
  });
  const call = served.call("POST", "/hello/runsync", { input: { name: "you" } });
  const failed = expect(call).rejects.toThrow();
  await started.promise;
  await served.server.close();
  await aborted.promise;
  await failed;
});

/** The status that a request with these headers gets; without a Host of its own none is sent. */
async function statusOf(port: number, headers: Record<string, string>): Promise<number | undefined> {
  const asked = httpRequest({ host: "127.0.0.1", port, path: "/tick/runsync", method: "POST", headers });
  asked.end();
  const [answer] = await once(asked, "response");
  answer.resume();
  return answer.statusCode;
}

test("only its own names may stand in Host and Origin", async ({ expect }) => {
  await using served = await serve([tick]);
  const { port } = served.server;
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "LOCALHOST"])
    expect([host, await statusOf(port, { host })]).toEqual([host, 200]);
  for (const host of ["evil.example", `evil.example:${port}`, "localhost.evil.example", "192.168.1.5"])
    expect([host, await statusOf(port, { host })]).toEqual([host, 403]);
  const own = { host: "localhost" };
  expect(await statusOf(port, { ...own, origin: "http://localhost:3000" })).toBe(200);
  expect(await statusOf(port, { ...own, origin: "https://evil.example" })).toBe(403);
  expect(await statusOf(port, { ...own, origin: "null" })).toBe(403);
});

test("an image or a link on another site starts no call, and a link may lead to the explorer", async ({
  expect,
}) => {
  await using served = await serve([api]);
  const status = async (path: string, site: string, more: Readonly<Record<string, string>> = {}) =>
    (await served.call("GET", path, undefined, { headers: { "Sec-Fetch-Site": site, ...more } })).status;
  expect(await status("/api/things/1", "cross-site")).toBe(403);
  expect(served.log.lines).toEqual([]);
  expect(await status("/docs", "cross-site")).toBe(200);
  for (const site of ["same-origin", "same-site", "none"])
    expect([site, await status("/api/things/1", site)]).toEqual([site, 200]);
  // A page on 127.0.0.1, where this is localhost.
  expect(await status("/api/things/1", "cross-site", { Origin: "http://127.0.0.1:3000" })).toBe(200);
});

test("on all addresses it answers to addresses, and says who can call it", async ({ expect }) => {
  await using served = await serve([tick], {}, { host: "0.0.0.0" });
  const { port, url } = served.server;
  expect(url).toBe(`http://localhost:${port}`);
  expect(await statusOf(port, { host: "192.168.1.5:8888" })).toBe(200);
  expect(await statusOf(port, { host: "evil.example" })).toBe(403);
  const called = { host: "192.168.1.5:8888" };
  expect(await statusOf(port, { ...called, origin: "http://192.168.1.5:3000" })).toBe(200);
  expect(await statusOf(port, { ...called, origin: "http://203.0.113.9" })).toBe(403);
  expect(served.screen()).toMatch(/^! .*0\.0\.0\.0/m);
});

test("localhost is both loopback addresses", async ({ expect }) => {
  await using served = await serve([tick]);
  const socket = connect({ host: "::1", port: served.server.port });
  await once(socket, "connect");
  socket.destroy();
  expect(served.screen()).toBe("");
});

test("a taken port gives way to the next one, which is said", async ({ expect }) => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  await using served = await serve([tick], {}, { port });
  expect(served.server.isMoved).toBe(true);
  expect(served.server.port).toBeGreaterThan(port);
  expect(served.server.port).toBeLessThan(port + 20);
  expect(served.screen()).toMatch(new RegExp(`^! .*\\b${port}\\b.*\\b${served.server.port}\\b`, "m"));
  expect(await served.call("GET", "/ping")).toMatchObject({ status: 200 });
  other.close();
});

test("a port that browsers refuse to call gives way to the next one that they do", async ({ expect }) => {
  await using served = await serve([tick], {}, { port: 6665 });
  expect(served.server.port).toBeGreaterThan(6669);
  expect(await served.call("GET", "/ping")).toMatchObject({ status: 200 });
});

test("an address of another computer is rejected with a message", async ({ expect }) => {
  const failure = serve([tick], {}, { host: "192.0.2.1" });
  await expect(failure).rejects.toThrow("192.0.2.1");
});
