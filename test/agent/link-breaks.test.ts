import { describe, test } from "vitest";
import { FRAME } from "../../src/link/link-frame.ts";
import { LinkFixture } from "../support/link-fixture.ts";
import { rawWorker } from "../support/raw-server.ts";

async function openFixture(): Promise<LinkFixture> {
  const host = await LinkFixture.create();
  await host.open();
  return host;
}

describe("a worker that breaks", () => {
  test.for(["http", "websocket"] as const)(
    "before it listens: another one may take the %s request, and this one is named no more before that",
    async (kind, { expect }) => {
      await using host = await openFixture();
      const server = await host.worker("w1", () => {});
      const port = host.admission.ports.get("w1");
      await new Promise((resolve) => server.close(resolve));
      const stream = await host.link.request("w1", { kind }).over();
      expect(stream.reset).toEqual({
        reason: "worker_gone",
        detail: `The worker refused the connection: nothing listens on its port ${port}.`,
      });
      expect(host.admission.refusing).toEqual(["w1"]);
      expect(host.link.said.at(-1)).toEqual([]);
      const types = host.link.frames.map(({ type }) => type);
      expect(types.lastIndexOf(FRAME.WORKERS)).toBeLessThan(types.indexOf(FRAME.RESET));
      await host.quiet();
    },
  );

  test.for([
    ["while it reads the request", "", "before it answered"],
    ["within the head of its answer", "HTTP/1.1 200 OK\r\nContent-", "before it answered"],
    ["within a body of known length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "in the middle"],
    ["within a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "in the middle"],
    ["between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "in the middle"],
  ] as const)("%s: the stream is reset with a reason", async ([, said, when], { expect }) => {
    await using host = await openFixture();
    for (const end of ["end", "resetAndDestroy"] as const) {
      using worker = await rawWorker(host, (socket) => socket.write(said, () => socket[end]()));
      const stream = await host.link.request("raw", { method: "POST" }, Buffer.from("body")).over();
      expect(stream.reset?.reason).toBe("worker_failed");
      expect(stream.reset?.detail).toContain(when);
      expect(stream.reset?.detail).toContain(`${host.admission.ports.get("raw")}`);
      await host.quiet();
      expect(worker.seen).toHaveLength(1);
    }
    expect(host.link.violations).toEqual([]);
  });

  test("in its HTTP: its bytes are not a response", async ({ expect }) => {
    await using host = await openFixture();
    const answers = [
      "garbage\r\n\r\n",
      "HTTP/1.1 999 Too High\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
      `HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(70_000)}\r\n\r\n`,
    ];
    for (const answer of answers) {
      using _ = await rawWorker(host, (socket) => socket.write(answer));
      const stream = await host.link.request("raw").over();
      expect(stream.reset?.reason).toBe("worker_failed");
      await host.quiet();
    }
  });

  test("that ends its answer by closing the connection has not broken", async ({ expect }) => {
    await using host = await openFixture();
    using _ = await rawWorker(host, (socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nall of it"));
    const stream = await host.link.request("raw").over();
    expect(stream.reset).toBeUndefined();
    expect(stream.text).toBe("all of it");
  });

  test("and is killed takes only its own requests along", async ({ expect }) => {
    await using host = await openFixture();
    const dying = await host.worker("dying", (_, response) => response.writeHead(200).write("begun"));
    await host.worker("living", (request, response) => void request.pipe(response));
    const lost = [host.link.request("dying"), host.link.request("dying")];
    const other = host.link.request("living", { method: "POST" }, "follows");
    await Promise.all(lost.map((stream) => stream.received("begun")));
    dying.closeAllConnections();
    for (const stream of lost) expect((await stream.over()).reset?.reason).toBe("worker_failed");
    await other.send(Buffer.from("still here"), { isLast: true });
    expect((await other.over()).text).toBe("still here");
    await host.quiet();
  });
});

describe("a reused connection", () => {
  const fine = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

  test.for(["GET", "POST"])(
    "and is closed as a request goes out: a %s fails, and is not seen twice",
    async (method, { expect }) => {
      await using host = await openFixture();
      using worker = await rawWorker(host, (socket, _, count) =>
        count === 1 ? socket.write(fine) : socket.resetAndDestroy(),
      );
      await host.link.request("raw").over();
      const second = await host.link.request("raw", { method }).over();
      expect(second.reset?.reason).toBe("worker_failed");
      expect(worker.seen).toHaveLength(2);
      await host.quiet();
    },
  );

  test("is not used again after a second: its server may be about to close it", async ({ expect }) => {
    await using host = await openFixture();
    using worker = await rawWorker(host, (socket) => socket.write(fine));
    await host.link.request("raw").over();
    await host.link.request("raw").over();
    expect(worker.sockets.size).toBe(1);
    await host.link.until(() => worker.sockets.size === 0);
    expect((await host.link.request("raw").over()).text).toBe("fine");
  });
});

describe("a client that goes", () => {
  test.for([
    ["before the worker has answered", ""],
    ["while the answer comes", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"],
  ] as const)("%s: the worker sees its connection end", async ([, said], { expect }) => {
    await using host = await openFixture();
    using worker = await rawWorker(host, (socket) => {
      socket.write(said);
      host.link.changed();
    });
    const stream = host.link.request("raw");
    await host.link.until(() => worker.seen.length === 1);
    if (said !== "") await stream.received("abc");
    stream.abort();
    await host.link.until(() => worker.sockets.size === 0);
    await host.quiet();
    expect(stream.reset).toBeUndefined();
  });

  test("while the request is sent: the worker sees it cut off", async ({ expect }) => {
    await using host = await openFixture();
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<string>();
    await host.worker("w1", (request) => {
      request.on("error", ({ message }) => aborted.resolve(message));
      request.on("data", () => begun.resolve());
    });
    const stream = host.link.request("w1", { method: "POST" }, "follows");
    await stream.send(Buffer.from("some of it"));
    await begun.promise;
    stream.abort();
    expect(await aborted.promise).toBe("aborted");
    await host.quiet();
  });

  test("before the worker was even connected to leaves nothing behind", async () => {
    await using host = await openFixture();
    await host.worker("w1", (_, response) => response.end("x"));
    for (let count = 0; count < 20; count += 1) host.link.request("w1").abort();
    await host.link.request("w1").over();
    await host.quiet();
  });
});

describe("a stream", () => {
  test("for a worker that takes no requests is refused", async ({ expect }) => {
    await using host = await openFixture();
    const stream = await host.link.request("other").over();
    expect(stream.reset).toEqual({
      reason: "worker_gone",
      detail: "The worker other takes no requests any more.",
    });
  });

  test("that never was is answered by a reset; of one that is over nothing matters", async ({ expect }) => {
    await using host = await openFixture();
    await host.worker("w1", (_, response) => response.end("x"));
    const over = await host.link.request("w1").over();
    over.sendNow(3, Buffer.from("late"));
    over.read(5);
    over.abort();
    host.link.send({ type: 3, flags: 0, stream: 77, payload: Buffer.from("?") });
    await host.link.until(() => host.link.frames.some(({ stream, type }) => stream === 77 && type === 8));
    expect(host.link.frames.filter(({ type }) => type === 8)).toHaveLength(1);
    expect(host.link.violations).toEqual([]);
  });

  test("whose edge sends more than it has credit for is reset", async ({ expect }) => {
    await using host = await openFixture();
    await host.worker("w1", () => {}); // never reads
    const stream = host.link.request("w1", { method: "POST" }, "follows");
    for (let count = 0; count < 200; count += 1) stream.sendNow(3, new Uint8Array(64 * 1024));
    expect((await stream.over()).reset).toEqual({ reason: "protocol", detail: "There was no credit." });
    await host.quiet();
  });

  test("with an invalid head is reset", async ({ expect }) => {
    await using host = await openFixture();
    await host.worker("w1", (_, response) => response.end("x"));
    const stream = await host.link.request("w1", { target: "no-slash" }).over();
    expect(stream.reset?.reason).toBe("protocol");
  });
});
