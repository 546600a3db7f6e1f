import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished, test } from "vitest";
import { callJson } from "./json-call.ts";

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
    method: "POST",
    headers: {},
    body: "{}",
  };
}

test("it sends the body with its headers, and reads the whole answer", async ({ expect }) => {
  const post = await serve((request, response) => {
    const { "content-type": type, authorization } = request.headers;
    response.writeHead(429);
    response.write("é".repeat(100_000));
    void text(request).then((sent) => response.end(JSON.stringify({ type, authorization, sent })));
  });
  const { signal } = new AbortController();
  const answer = await callJson({ ...post, headers: { Authorization: "Bearer k" }, body: '"ü"', signal });
  expect(answer).toEqual({
    status: 429,
    text: `${"é".repeat(100_000)}{"type":"application/json","authorization":"Bearer k","sent":"\\"ü\\""}`,
  });
});

test("a call without a body sends none, and no type of one", async ({ expect }) => {
  const { url } = await serve(({ method, headers }, response) => {
    response.end(JSON.stringify({ method, type: headers["content-type"] ?? null }));
  });
  const { signal } = new AbortController();
  const { text: answer } = await callJson({ url, method: "DELETE", headers: {}, signal });
  expect(JSON.parse(answer)).toEqual({ method: "DELETE", type: null });
});

test("it follows no redirect, which could take the key elsewhere", async ({ expect }) => {
  const post = await serve((_, response) => response.writeHead(307, { location: "/elsewhere" }).end());
  await expect(callJson({ ...post, signal: new AbortController().signal })).rejects.toThrow("redirect");
});

test("an abort ends it before and within the answer", async ({ expect }) => {
  const aborted = new AbortController();
  const silent = await serve(() => aborted.abort(new Error("stopped")));
  const failure = { cause: new Error("stopped") };
  await expect(callJson({ ...silent, signal: aborted.signal })).rejects.toMatchObject(failure);

  const late = new AbortController();
  const slow = await serve((_, response) => {
    response.write("{");
    setTimeout(() => late.abort(), 50);
  });
  await expect(callJson({ ...slow, signal: late.signal })).rejects.toThrow("abort");
});

test("a connection that breaks within the answer is a failure", async ({ expect }) => {
  const post = await serve((_, response) => {
    response.write("{", () => response.destroy());
  });
  await expect(callJson({ ...post, signal: new AbortController().signal })).rejects.toThrow("abort");
});
