import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, test } from "vitest";
import { EdgeClient } from "./edge-client.ts";

test("a call says what makes it, and of which host", async ({ expect }) => {
  const seen = Promise.withResolvers<IncomingHttpHeaders>();
  const server = createServer(({ headers }, response) => {
    seen.resolve(headers);
    response.writeHead(503).end("closed");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = new EdgeClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "T");
  const outcome = await client.host({ timeoutMs: 5_000, signal: new AbortController().signal });
  expect(outcome).toEqual({ kind: "unreachable", detail: "status 503: closed" });
  expect(await seen.promise).toMatchObject({
    authorization: "Bearer T",
    accept: "*/*",
    "user-agent": "node",
  });
});
