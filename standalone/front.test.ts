import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished, test } from "vitest";
import { openFront } from "./front.ts";

const PATIENCE_MS = 50;

/** A runtime that never notices the end of a client, and a client of the front before it. */
async function connected(patienceMs = PATIENCE_MS): Promise<{ client: Socket; runtime: Socket }> {
  const server: Server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const front = await openFront(0, (server.address() as AddressInfo).port, patienceMs);
  onTestFinished(() => {
    front.close();
    server.close();
  });
  const arrived = once(server, "connection") as Promise<[Socket]>;
  const client = connect({ port: front.port, host: "127.0.0.1", allowHalfOpen: true });
  const [runtime] = await arrived;
  return { client, runtime };
}

test("every byte passes, both ways, until the runtime closes", async ({ expect }) => {
  const { client, runtime } = await connected();
  runtime.once("data", (bytes) => runtime.end(bytes));
  client.write("asked");
  expect(await text(client)).toBe("asked");
  client.end();
});

test("a client that closes and gets no answer is a reset for the runtime", async ({ expect }) => {
  const { client, runtime } = await connected();
  client.end("asked");
  const [error] = (await once(runtime.resume(), "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
});

test("a client that has closed its side only is answered", async ({ expect }) => {
  const { client, runtime } = await connected(60_000);
  client.end("asked");
  await once(runtime, "data");
  runtime.end("answered");
  expect(await text(client)).toBe("answered");
});

test("what breaks off on one side breaks off on the other", async ({ expect }) => {
  const first = await connected(60_000);
  first.client.resetAndDestroy();
  const [gone] = (await once(first.runtime.resume(), "error")) as [NodeJS.ErrnoException];
  const second = await connected(60_000);
  second.runtime.resetAndDestroy();
  const [broken] = (await once(second.client.resume(), "error")) as [NodeJS.ErrnoException];
  expect([gone.code, broken.code]).toEqual(["ECONNRESET", "ECONNRESET"]);
});
