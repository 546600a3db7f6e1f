/** The way of a worker's requests by its agent to the edge: everything real but the edge. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, onTestFinished, test } from "vitest";
import { SILENT_LOG } from "../../node-agent/core/log.ts";
import { TIMING } from "../../node-agent/core/timing.ts";
import { EdgeRelay } from "../../node-agent/worker-server/edge-relay.ts";
import { WorkerServer } from "../../node-agent/worker-server/worker-server.ts";

/** A server for workers whose edge is at the port. The worker "w1" has the token "T". */
async function relayTo(edgePort: number) {
  const calls = null as never; // of the queue: nobody asks for them here
  const server = new WorkerServer({
    relay: new EdgeRelay(`http://127.0.0.1:${edgePort}`),
    findSession: (workerId) => (workerId === "w1" ? { token: "T", calls } : undefined),
    workersKnown: Promise.resolve(),
    log: SILENT_LOG,
    timing: { ...TIMING, errorDelayMs: 0 },
  });
  const port = await server.listen("127.0.0.1", 0);
  onTestFinished(() => server.close());
  return port;
}

async function edgeThat(answer: RequestListener) {
  const edge = createServer(answer);
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    edge.close();
    edge.closeAllConnections();
  });
  return (edge.address() as AddressInfo).port;
}

type Call = { readonly method?: string; readonly path?: string; readonly headers?: Record<string, string> };

function call(port: number, { method = "GET", path = "/T/edge/w1/v2/e1/health", headers = {} }: Call = {}) {
  const sent = request({ host: "127.0.0.1", port, method, path, headers, agent: false });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => {}); // some tests want no answer
  return { sent, answered };
}

async function answerOf({ answered }: ReturnType<typeof call>) {
  const [answer] = await answered;
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

describe("a worker's request for the edge", () => {
  test("arrives unchanged, and so does the response", async ({ expect }) => {
    const port = await edgeThat((incoming, response) => {
      const { method, url, headers } = incoming;
      response.writeHead(418, {
        "x-answer": "yes",
        "set-cookie": ["a=1", "b=2"],
        connection: "x-answer-hop",
      });
      void text(incoming).then((body) => response.end(JSON.stringify({ method, url, headers, body })));
    });
    const headers = {
      authorization: "Bearer ere_1",
      connection: "x-hop",
      "x-hop": "1",
      upgrade: "websocket",
    };
    const sending = call(await relayTo(port), { method: "POST", path: "/T/edge/w1/v2/e1/run?a=1", headers });
    sending.sent.end('{"input":{}}');
    const { status, headers: answered, body } = await answerOf(sending);
    expect(status).toBe(418);
    expect(answered).toMatchObject({ "x-answer": "yes", "set-cookie": ["a=1", "b=2"] });
    expect(JSON.parse(body)).toEqual({
      method: "POST",
      url: "/v2/e1/run?a=1",
      headers: {
        authorization: "Bearer ere_1",
        "content-length": "12",
        connection: "close",
        host: `127.0.0.1:${port}`,
      },
      body: '{"input":{}}',
    });
  });

  const smuggled = "GET /v2/e2/health HTTP/1.1\r\nHost: edge\r\n\r\n";
  test.for([
    [{ "transfer-encoding": "chunked" }],
    [{ "content-length": `${smuggled.length}`, connection: "content-length" }],
  ])("is one request, whatever its body looks like: %j", async ([headers], { expect }) => {
    const seen: (string | undefined)[] = [];
    const port = await edgeThat((incoming, response) => {
      seen.push(incoming.url);
      void text(incoming).then((body) => response.end(body));
    });
    const sending = call(await relayTo(port), { method: "DELETE", headers: headers ?? {} });
    sending.sent.end(smuggled);
    expect((await answerOf(sending)).body).toBe(smuggled);
    expect(seen).toEqual(["/v2/e1/health"]);
  });

  test("needs the token of a worker, and does not get to what is for agents", async ({ expect }) => {
    const seen: (string | undefined)[] = [];
    const port = await relayTo(await edgeThat(({ url }, response) => void (seen.push(url), response.end())));
    for (const path of ["/X/edge/w1/v2/e1/run", "/T/edge/w2/v2/e1/run", "/T/edge/w1/v2/../agent/v1/sync"]) {
      const sending = call(port, { path });
      sending.sent.end();
      expect((await answerOf(sending)).status, path).toBe(404);
    }
    expect(seen).toEqual([]);
  });

  test("is answered before it was sent whole, if the edge does so", async ({ expect }) => {
    const port = await edgeThat((_incoming, response) => response.writeHead(401).end("no"));
    const sending = call(await relayTo(port), { method: "POST" });
    sending.sent.write("the beginning");
    expect(await answerOf(sending)).toMatchObject({ status: 401, body: "no" });
    sending.sent.destroy();
  });
});

describe("an edge that is not there", () => {
  test("reaches a worker that still sends, and its connection stays usable", async ({ expect }) => {
    const gone = createTcpServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port: closedPort } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));

    const socket = connect(await relayTo(closedPort), "127.0.0.1");
    const head = "POST /T/edge/w1/v2/e1/run HTTP/1.1\r\nHost: agent\r\nContent-Length: 5\r\n\r\n";
    const parts: string[] = [];
    socket.write(`${head}in`);
    for await (const bytes of socket.setEncoding("utf8")) {
      parts.push(bytes as string);
      const answers = parts.join("").split("HTTP/1.1 502 Bad Gateway").length - 1;
      const isWhole = parts.join("").endsWith("0\r\n\r\n") || parts.join("").endsWith("}");
      if (answers === 1 && isWhole && parts.length > 0) socket.write(`put${head}again`);
      if (answers === 2 && isWhole) break;
    }
    expect(parts.join("")).toContain("The edge cannot be reached from this worker's host: ");
  });

  test("is one that hangs up, before its answer or in it", async ({ expect }) => {
    const port = await relayTo(
      await edgeThat(({ url, socket }, response) => {
        if (url === "/v2/silent") return void socket.destroy();
        response.writeHead(200, { "content-length": "100" });
        response.write("half", () => socket.destroy());
      }),
    );
    const silent = call(port, { path: "/T/edge/w1/v2/silent" });
    silent.sent.end();
    expect(await answerOf(silent)).toMatchObject({ status: 502 });

    const half = call(port, { path: "/T/edge/w1/v2/half" });
    half.sent.end();
    await expect(answerOf(half)).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});

test("a worker that hangs up is not waited for at the edge", async ({ expect }) => {
  const hungUp = Promise.withResolvers<string>();
  const port = await edgeThat((incoming, response) => {
    response.on("close", () => hungUp.resolve(incoming.url ?? ""));
    response.writeHead(200).write("the beginning of an answer");
  });
  const sending = call(await relayTo(port));
  sending.sent.end();
  const [answer] = await sending.answered;
  answer.on("error", () => {});
  await once(answer, "data");
  sending.sent.destroy();
  expect(await hungUp.promise).toBe("/v2/e1/health");
});
