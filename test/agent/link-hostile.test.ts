/** Workers that mean harm: none costs the agent more memory than its share, or gets at what others ask. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type { RequestHead } from "../../src/link/link-messages.ts";
import { LinkFixture } from "../support/link-fixture.ts";
import { rawWorker } from "../support/raw-server.ts";

const MEGABYTE = 1024 * 1024;
const OK = "HTTP/1.1 200 OK\r\n";

async function openFixture(): Promise<LinkFixture> {
  const host = await LinkFixture.create();
  await host.open();
  return host;
}

/** Writes as fast as the other side takes it, until there was so much, or it has gone. */
function pour(socket: Socket, piece: Buffer, bytes: number, then: () => void = () => {}): void {
  for (let left = bytes; left > 0; left -= piece.byteLength) {
    if (socket.write(piece) || left <= piece.byteLength) continue;
    return void socket.once("drain", () => pour(socket, piece, left - piece.byteLength, then));
  }
  then();
}

describe("a worker's answer", () => {
  test.for([
    ["a chunk's extension", `${OK}Transfer-Encoding: chunked\r\n\r\n5;`, "a"],
    ["trailers", `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`, "X-Trailer: yes\r\n"],
    ["headers", OK, "X-Header: yes\r\n"],
    ["the status line", "HTTP/1.1 200 ", "OK "],
  ] as const)("with endless %s is none", async ([, begin, more], { expect }) => {
    await using host = await openFixture();
    using _ = await rawWorker(host, (socket) => {
      socket.write(begin);
      pour(socket, Buffer.from(more.repeat(1_000)), 100 * MEGABYTE);
    });
    const stream = await host.link.request("raw").over();
    expect(stream.reset?.reason).toBe("worker_failed");
    await host.quiet();
  });

  test("after a hundred thousand interim ones is passed on alone", async ({ expect }) => {
    await using host = await openFixture();
    const interim = Buffer.from("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(500));
    using _ = await rawWorker(host, (socket) => {
      pour(socket, interim, 200 * interim.byteLength, () => {
        socket.write(`${OK}Content-Length: 4\r\n\r\nlast`);
      });
    });
    const stream = await host.link.request("raw").over();
    expect(stream.text).toBe("last");
    expect(host.link.frames.filter((frame) => frame.stream === stream.number)).toHaveLength(2);
  });

  test.for([
    ["two lengths", "Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc"],
    ["a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"],
    ["a length that is none", "Content-Length: -3\r\n\r\nabc"],
    ["a chunk that is none", "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"],
    ["a folded header", "X-Folded: a\r\n b\r\nX\0: c\r\nContent-Length: 3\r\n\r\nabc"],
  ] as const)("with %s is none", async ([, rest], { expect }) => {
    await using host = await openFixture();
    using _ = await rawWorker(host, (socket) => socket.write(OK + rest));
    const stream = await host.link.request("raw").over();
    expect(stream.reset?.reason).toBe("worker_failed");
    await host.quiet();
  });

  test("that is followed by another is the only one, and no other request gets that", async ({ expect }) => {
    await using host = await openFixture();
    const answer = (text: string) => `${OK}Content-Length: 4\r\n\r\n${text}`;
    using worker = await rawWorker(host, (socket, _, count) => {
      socket.write(count === 1 ? `${answer("mine")}${answer("evil")}` : answer("next"));
    });
    expect((await host.link.request("raw").over()).text).toBe("mine");
    for (let count = 0; count < 5; count += 1) {
      expect((await host.link.request("raw").over()).text).toBe("next");
    }
    expect(worker.seen).toHaveLength(6);
    await host.quiet();
  });
});

const upgrade: Partial<RequestHead> = { kind: "websocket" };

/** Answers the handshake; what comes after it is the test's. */
function accept(socket: Socket, request: string): boolean {
  const key = /^sec-websocket-key: (.*)$/im.exec(request)?.[1]?.trim();
  if (key === undefined) return false;
  const digest = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const head = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
  socket.write(`${head}Sec-WebSocket-Accept: ${digest}\r\n\r\n`);
  return true;
}

/** The first frame of a message of 15 MB that has more frames, with all of its bytes. */
function endlessMessage(): Buffer {
  const header = Buffer.alloc(10);
  header[0] = 0x02;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(15 * MEGABYTE), 2);
  return Buffer.concat([header, Buffer.alloc(15 * MEGABYTE)]);
}

describe("a worker's WebSocket", () => {
  test("whose messages never end is broken off once there are too many, and no small one", async ({
    expect,
  }) => {
    await using host = await openFixture();
    const endless = endlessMessage();
    using _ = await rawWorker(host, (socket, request) => {
      if (!accept(socket, request)) return void socket.write(Buffer.from([0x81, 2, 0x6f, 0x6b]));
      if (request.startsWith("GET /endless")) socket.write(endless);
    });
    const small = host.link.request("raw", { ...upgrade, target: "/small" });
    await small.answered();
    const streams = Array.from({ length: 6 }, () =>
      host.link.request("raw", { ...upgrade, target: "/endless" }),
    );
    const broken = await host.link.until(() => streams.find(({ reset }) => reset !== undefined));
    expect(broken.reset).toMatchObject({ reason: "worker_failed" });
    expect(broken.reset?.detail).toContain("a message never ends");
    small.message("anything");
    await small.received("ok");
    expect(streams.filter(({ reset }) => reset).length).toBeLessThan(streams.length);
  });

  test("that pings without end and reads nothing does not fill the agent with answers", async ({
    expect,
  }) => {
    await using host = await openFixture();
    const pings = 200_000;
    const opened = Promise.withResolvers<WebSocket>();
    const server = await host.worker("pinging", () => {});
    const sockets = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, opened.resolve),
    );
    const stream = host.link.request("pinging", upgrade);
    const socket = await opened.promise;
    socket.pause();
    const payload = Buffer.alloc(125);
    for (let count = 0; count < pings; count += 1) socket.ping(payload);
    socket.send("all");
    await stream.received("all");

    let pongs = 0;
    socket.on("pong", () => (pongs += 1));
    stream.message("the end");
    const ended = once(socket, "message");
    socket.resume();
    expect(String(await ended)).toBe("the end,false");
    expect(pongs).toBeGreaterThan(0);
    expect(pongs).toBeLessThan(pings * 0.75); // what kernels keep is not the agent's
  });
});
