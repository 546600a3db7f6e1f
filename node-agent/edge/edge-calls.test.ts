import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, test } from "vitest";
import { describeNetworkError, EdgeCalls } from "./edge-calls.ts";

const LIMITS = { timeoutMs: 5_000, signal: new AbortController().signal };
const CALL = {
  method: "POST",
  path: "/v1/x",
  headers: { authorization: "Bearer T" },
  body: "é",
  ...LIMITS,
} as const;

/** An edge below a path of its server, and how many connections it has seen. */
async function startEdge(answer: RequestListener): Promise<{ calls: EdgeCalls; connections: () => number }> {
  let connections = 0;
  const server = createServer(answer).on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { calls: new EdgeCalls(`http://127.0.0.1:${port}/base`), connections: () => connections };
}

test("a call brings its body below the address of the edge, and the whole answer back", async ({
  expect,
}) => {
  const { calls } = await startEdge((request, response) => {
    request.pipe(response.writeHead(201, { path: request.url, ...request.headers }));
  });
  const answer = await calls.answer(CALL);
  expect(answer).toEqual({ status: 201, bytes: Buffer.from("é") });
});

test("calls one after the other share a connection", async ({ expect }) => {
  const { calls, connections } = await startEdge((request, response) => {
    expect(request.url).toBe("/base/v1/x");
    expect(request.headers).toMatchObject({ authorization: "Bearer T", "content-length": "2" });
    request.resume().on("end", () => response.end("{}"));
  });
  for (let call = 0; call < 3; call += 1) await calls.answer(CALL);
  expect(connections()).toBe(1);
});

test("a redirect is an answer, and nothing is sent to where it leads", async ({ expect }) => {
  const seen: string[] = [];
  const { calls } = await startEdge(({ url = "" }, response) => {
    seen.push(url);
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  expect(await calls.answer(CALL)).toMatchObject({ status: 307 });
  expect(seen).toEqual(["/base/v1/x"]);
});

test("an answer that breaks off fails its call", async ({ expect }) => {
  const { calls } = await startEdge((_, response) => {
    response.writeHead(200, { "content-length": "9" }).write("{");
    setTimeout(() => response.destroy(), 20);
  });
  await expect(calls.answer(CALL)).rejects.toThrow();
});

test("a call ends after its time, by its signal, and when all are given up", async ({ expect }) => {
  const { calls } = await startEdge(() => {});
  const gone = new AbortController();
  const late = calls.answer({ ...CALL, timeoutMs: 20 });
  const left = calls.answer({ ...CALL, signal: gone.signal });
  const givenUp = calls.answer(CALL);
  await expect(late).rejects.toThrow("no answer in time");
  gone.abort();
  await expect(left).rejects.toThrow();
  calls.giveUp(new Error("the network was away"));
  await expect(givenUp).rejects.toThrow("the network was away");
  await expect(calls.answer({ ...CALL, signal: gone.signal })).rejects.toThrow();
});

test("an edge that does not listen is described", async ({ expect }) => {
  const error = await new EdgeCalls("http://localhost:1").answer(CALL).catch((failure: unknown) => failure);
  expect(describeNetworkError(error)).toContain("ECONNREFUSED");
});
