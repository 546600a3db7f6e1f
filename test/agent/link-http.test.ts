import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, test } from "vitest";
import { FLAG_END, FRAME } from "../../src/link/link-frame.ts";
import { LinkFixture } from "../support/link-fixture.ts";

const MEGABYTE = 1024 * 1024;
const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("a request on a link", () => {
  test("reaches the worker unchanged, and its response returns unchanged", async ({ expect }) => {
    let seen: IncomingMessage | undefined;
    await using host = await LinkFixture.start((request, response) => {
      seen = request;
      request.resume();
      response.writeHead(201, "Made", ["X-Two", "1", "x-two", "2", "Set-Cookie", "a=1", "Set-Cookie", "b=2"]);
      response.end("yes");
    });
    const headers: [string, string][] = [
      ["Host", "e.lb.example"],
      ["X-Case", "One"],
      ["x-case", "tWo"],
      ["Accept", "text/*"],
    ];
    const stream = host.link.request("w1", { method: "PURGE", target: "/a/../b%2F//c?x=1&x=%20", headers });
    await stream.over();
    expect(seen?.method).toBe("PURGE");
    expect(seen?.url).toBe("/a/../b%2F//c?x=1&x=%20");
    expect(seen?.rawHeaders.slice(0, 8)).toEqual(headers.flat());
    expect(stream.head).toMatchObject({ status: 201, statusText: "Made" });
    expect(stream.head?.headers.slice(0, 4)).toEqual([
      ["X-Two", "1"],
      ["x-two", "2"],
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
    ]);
    expect(stream.text).toBe("yes");
    expect(host.link.violations).toEqual([]);
    await host.quiet();
  });

  test("has nothing of one connection in its headers, either way", async ({ expect }) => {
    let seen: string[] = [];
    await using host = await LinkFixture.start((request, response) => {
      seen = request.rawHeaders.filter((_, at) => at % 2 === 0);
      response.writeHead(200, {
        Connection: "X-Private, close",
        "X-Private": "1",
        "Keep-Alive": "timeout=9",
      });
      response.write("chunk");
      response.end();
    });
    const headers: [string, string][] = [
      ["Host", "app"],
      ["Connection", "X-Hop"],
      ["X-Hop", "1"],
      ["TE", "trailers"],
      ["Upgrade", "h2c"],
      ["Expect", "100-continue"],
    ];
    const stream = await host.link.request("w1", { headers }).over();
    expect(seen).toEqual(["Host", "Connection"]);
    expect(stream.head?.headers.map(([name]) => name)).toEqual(["Date"]);
    expect(stream.text).toBe("chunk");
  });

  test("is answered in one message when its answer is complete at once", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => {
      response.writeHead(200, { "Content-Length": "10" });
      response.write("first"); // a packet of its own
      setImmediate(() => setImmediate(() => response.end("later")));
    });
    const stream = await host.link.request("w1").over();
    const messages = host.link.messages.filter((frames) =>
      frames.some((frame) => frame.stream === stream.number),
    );
    expect(messages).toHaveLength(1);
    expect(messages[0]?.map(({ type }) => type).filter((type) => type === FRAME.HEAD)).toHaveLength(1);
    expect(messages[0]?.at(-1)).toMatchObject({ type: FRAME.DATA, flags: FLAG_END });
    expect(stream.text).toBe("firstlater");
  });

  test("may have no body, or an answer without one", async ({ expect }) => {
    const lengths: (string | undefined)[] = [];
    await using host = await LinkFixture.start((request, response) => {
      lengths.push(request.headers["content-length"]);
      expect(request.headers["transfer-encoding"]).toBeUndefined();
      const status = Number(request.url?.slice(1));
      response.writeHead(status, status === 200 ? { "Content-Length": "1000" } : {}).end();
    });
    for (const [method, status] of [
      ["HEAD", 200],
      ["GET", 204],
      ["GET", 304],
      ["POST", 204],
      ["DELETE", 204],
    ] as const) {
      const stream = await host.link.request("w1", { method, target: `/${status}` }).over();
      expect(stream.head?.status).toBe(status);
      expect(stream.receivedBytes).toBe(0);
      expect(stream.isEnded).toBe(true);
    }
    expect(lengths).toEqual([undefined, undefined, undefined, "0", undefined]);
    await host.quiet();
  });

  test.for([
    ["30 MB each way, byte for byte, with a length", 30 * MEGABYTE, true],
    ["several windows each way, byte for byte, without one", 5 * MEGABYTE, false],
  ] as const)("carries %s", async ([, bytes, hasLength], { expect }) => {
    await using host = await LinkFixture.start((request, response) => request.pipe(response));
    const body = randomBytes(bytes);
    const headers: [string, string][] = hasLength ? [["Content-Length", `${bytes}`]] : [];
    const stream = host.link.request("w1", { method: "POST", headers }, "follows");
    await stream.send(body, { isLast: true });
    await stream.over();
    const received = Buffer.concat(stream.pieces.map((piece) => piece.bytes));
    expect(stream.reset).toBeUndefined();
    expect(sha(received)).toBe(sha(body));
    expect(host.link.violations).toEqual([]);
    await host.quiet();
  });

  test("brings a small body with its head", async ({ expect }) => {
    await using host = await LinkFixture.start((request, response) => {
      void buffer(request).then((body) =>
        response.end(`${request.headers["content-length"]} ${body.toString()}`),
      );
    });
    const headers: [string, string][] = [["Content-Length", "5"]];
    const stream = await host.link.request("w1", { method: "PUT", headers }, Buffer.from("small")).over();
    expect(stream.text).toBe("5 small");
  });

  test("with a body of another length than declared is rejected, and is not a second request", async ({
    expect,
  }) => {
    let requests = 0;
    await using host = await LinkFixture.start((request) => {
      requests += 1;
      request.resume();
    });
    const headers: [string, string][] = [["Content-Length", "5"]];
    const long = await host.link
      .request("w1", { method: "POST", headers }, Buffer.from("12345GET / HTTP/1.1\r\n\r\n"))
      .over();
    expect(long.reset).toEqual({ reason: "protocol", detail: "The body is longer than its Content-Length." });
    const short = await host.link.request("w1", { method: "POST", headers }, Buffer.from("1234")).over();
    expect(short.reset).toEqual({
      reason: "protocol",
      detail: "The body is shorter than its Content-Length.",
    });
    await host.quiet();
    expect(requests).toBeLessThanOrEqual(2);
  });

  test("leaves out interim answers and trailers", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</a.css>; rel=preload" });
      response.writeHead(200, { Trailer: "X-Sum" });
      response.write("body");
      response.addTrailers({ "X-Sum": "1" });
      response.end();
    });
    const stream = await host.link.request("w1").over();
    expect(stream.head?.status).toBe(200);
    expect(stream.header("trailer")).toEqual([]);
    expect(stream.text).toBe("body");
    expect(host.link.frames.filter(({ type }) => type === FRAME.HEAD)).toHaveLength(1);
  });

  test("gets its answer piece by piece as the worker writes it", async ({ expect }) => {
    let write: (text: string) => void = () => {};
    await using host = await LinkFixture.start((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
      write = (text) => (text === "end" ? response.end() : response.write(text));
    });
    const stream = host.link.request("w1");
    await stream.answered();
    for (const event of ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]) {
      write(event);
      await stream.received(event);
    }
    write("end");
    await stream.over();
    expect(stream.pieces.map(({ bytes }) => bytes.toString())).toEqual([
      "data: 1\n\n",
      "data: 2\n\n",
      "data: 3\n\n",
    ]);
  });

  test("may be answered before the worker has read it, and the rest goes nowhere", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => {
      response.writeHead(413, { Connection: "close" }).end("too much");
    });
    const stream = host.link.request("w1", { method: "POST" }, "follows");
    await stream.over();
    expect(stream.head?.status).toBe(413);
    expect(stream.text).toBe("too much");
    await host.quiet();
    for (let sent = 0; sent < 3 * MEGABYTE; sent += 64 * 1024) {
      await host.link.until(() => stream.open >= 64 * 1024);
      stream.sendNow(FRAME.DATA, new Uint8Array(64 * 1024));
    }
    stream.end();
    expect(stream.reset).toBeUndefined();
    expect((await host.link.request("w1").over()).head?.status).toBe(413);
    expect(host.link.violations).toEqual([]);
  });

  test("uses a connection again", async ({ expect }) => {
    let connections = 0;
    await using host = await LinkFixture.create();
    const server = await host.worker("w1", (_, response) => response.end("x"));
    server.on("connection", () => (connections += 1));
    await host.open();
    for (let count = 0; count < 20; count += 1) await host.link.request("w1").over();
    expect(connections).toBe(1);
  });

  test("that cannot be written as HTTP is rejected, and others continue", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.end("fine"));
    const heads = [
      { target: "/a b" },
      { method: "GE T" },
      { headers: [["X-Bad", "a\r\nX-Worse: 1"]] as [string, string][] },
      { kind: "websocket" as const, target: "/a\r\nb" },
      { kind: "websocket" as const, headers: [["X-Bad", "a\r\nb"]] as [string, string][] },
    ];
    for (const head of heads) {
      const stream = await host.link.request("w1", head).over();
      expect(stream.reset?.reason).toBe("protocol");
    }
    expect((await host.link.request("w1").over()).text).toBe("fine");
    expect(host.admission.inside).toBe(0);
  });
});
