import { randomBytes } from "node:crypto";
import { describe, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { FLAG_FIN, FRAME } from "../../src/link/link-frame.ts";
import { type RequestHead, WEBSOCKET_MESSAGE_MAX_BYTES } from "../../src/link/link-messages.ts";
import { LinkFixture } from "../support/link-fixture.ts";

const upgrade = (headers: [string, string][] = [], target = "/"): Partial<RequestHead> => ({
  kind: "websocket",
  target,
  headers: [
    ["Host", "app.example"],
    ["Sec-WebSocket-Version", "13"],
    ["Sec-WebSocket-Key", "abc"],
    ...headers,
  ],
});

type Options = NonNullable<ConstructorParameters<typeof WebSocketServer>[0]>;

/** A worker that speaks WebSocket as the test says. */
async function start(
  greet: (socket: WebSocket, url: string, headers: string[]) => void,
  options: Options = {},
) {
  const host = await LinkFixture.create({ linkBeatMs: 50 });
  const server = await host.worker("w1", (_, response) => {
    response.writeHead(418, { "X-Why": "teapot" }).end("no sockets here");
  });
  const sockets = new WebSocketServer({ noServer: true, ...options });
  server.on("upgrade", (request, socket, head) => {
    if (request.url === "/refused")
      return void socket.end("HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\nno way");
    if (request.url === "/gone") return void socket.destroy();
    if (request.url === "/slow")
      return void host.link.until(() => host.link.beats === 2).then(() => socket.destroy());
    sockets.handleUpgrade(request, socket, head, (opened) =>
      greet(opened, request.url ?? "", request.rawHeaders),
    );
  });
  await host.open();
  return host;
}

const echo = (socket: WebSocket) =>
  socket.on("message", (message: Buffer, binary: boolean) => socket.send(message, { binary }));

describe("a WebSocket on a link", () => {
  test("has heartbeats until its worker answers, since the edge waits", async ({ expect }) => {
    await using host = await start(echo);
    await host.link.request("w1", upgrade([], "/slow")).over();
    expect(host.link.beats).toBe(2);
  });

  test("reaches the worker as it was asked for, and is open both ways", async ({ expect }) => {
    let seen: { url: string; headers: string[] } | undefined;
    await using host = await start((socket, url, headers) => {
      seen = { url, headers };
      echo(socket);
    });
    const stream = host.link.request(
      "w1",
      upgrade(
        [
          ["X-Two", "1"],
          ["x-two", "2"],
          ["Cookie", "a=1"],
        ],
        "/a/../b?x=%20",
      ),
    );
    expect((await stream.answered()).status).toBe(101);
    expect(stream.header("upgrade")).toEqual([]);
    expect(stream.header("sec-websocket-accept")).toEqual([]);
    expect(seen?.url).toBe("/a/../b?x=%20");
    expect(seen?.headers).toContain("app.example");
    expect(seen?.headers.filter((one) => one.toLowerCase() === "x-two")).toHaveLength(2);
    expect(seen?.headers.some((one) => one.toLowerCase() === "sec-websocket-extensions")).toBe(false);
    stream.message("grüß Gott");
    stream.message(new Uint8Array([0, 255, 1]));
    stream.message("");
    await host.link.until(() => stream.pieces.length === 2);
    expect(stream.pieces.map(({ type }) => type)).toEqual([FRAME.TEXT, FRAME.BINARY]);
    expect(stream.pieces[0]?.bytes.toString()).toBe("grüß Gott");
    expect([...(stream.pieces[1]?.bytes ?? [])]).toEqual([0, 255, 1]);
    stream.close({ code: 4001, reason: "enough" });
    await stream.over();
    expect(stream.closed).toEqual({ code: 4001, reason: "enough" });
    await host.quiet();
    expect(host.link.violations).toEqual([]);
  });

  test("is closed by the worker with its code", async ({ expect }) => {
    await using host = await start((socket) => socket.close(4002, "worker's turn"));
    const stream = await host.link.request("w1", upgrade()).over();
    expect(stream.closed).toEqual({ code: 4002, reason: "worker's turn" });
    stream.close({ code: 4002, reason: "" });
    await host.quiet();
  });

  test("that is closed without a code is so on the other side too", async ({ expect }) => {
    const code = Promise.withResolvers<number>();
    await using host = await start((socket) => socket.on("close", code.resolve));
    const stream = host.link.request("w1", upgrade());
    await stream.answered();
    stream.close({ code: 1005, reason: "" });
    expect(await code.promise).toBe(1005);
    expect((await stream.over()).closed?.code).toBe(1005);
  });

  test("may agree on a subprotocol, or on none", async ({ expect }) => {
    const offer = upgrade([["Sec-WebSocket-Protocol", "graphql, chat"]]);
    for (const chosen of ["chat", false] as const) {
      await using host = await start(echo, { handleProtocols: () => chosen });
      const stream = host.link.request("w1", offer);
      await stream.answered();
      expect(stream.header("sec-websocket-protocol")).toEqual(chosen ? [chosen] : []);
      stream.message("hello");
      await stream.received("hello");
    }
  });

  test("that the worker does not want is answered plainly", async ({ expect }) => {
    await using host = await start(echo);
    const refused = await host.link.request("w1", upgrade([], "/refused")).over();
    expect(refused.head).toMatchObject({ status: 403, statusText: "No" });
    expect(refused.text).toBe("no way");
    expect(refused.isEnded).toBe(true);
    const gone = await host.link.request("w1", upgrade([], "/gone")).over();
    expect(gone.reset?.reason).toBe("worker_failed");
    await host.quiet();
  });

  test("carries large messages in pieces, within the credit, both ways", async ({ expect }) => {
    await using host = await start(echo, { maxPayload: WEBSOCKET_MESSAGE_MAX_BYTES });
    const stream = host.link.request("w1", upgrade());
    await stream.answered();
    const message = randomBytes(5_000_000);
    for (let at = 0; at < message.byteLength;) {
      await host.link.until(() => stream.open > 0);
      const piece = message.subarray(at, at + Math.min(stream.open, 65_536));
      at += piece.byteLength;
      stream.sendNow(FRAME.BINARY, piece, at === message.byteLength ? FLAG_FIN : 0);
    }
    await host.link.until(() => stream.receivedBytes === message.byteLength);
    expect(Buffer.concat(stream.pieces.map(({ bytes }) => bytes)).equals(message)).toBe(true);
    expect(stream.pieces.map(({ isLast }) => isLast).indexOf(true)).toBe(stream.pieces.length - 1);
    expect(host.link.violations).toEqual([]);
  });

  test("with a message that is too large is closed with 1009, whichever side sent it", async ({ expect }) => {
    const tooLarge = Buffer.alloc(WEBSOCKET_MESSAGE_MAX_BYTES + 1);
    const code = Promise.withResolvers<number>();
    await using host = await start((socket, url) => {
      socket.on("close", code.resolve);
      if (url === "/large") socket.send(tooLarge);
    });
    const fromWorker = await host.link.request("w1", upgrade([], "/large")).over();
    expect(fromWorker.closed?.code).toBe(1009);
    expect(await code.promise).toBe(1009);
    const fromClient = host.link.request("w1", upgrade());
    await fromClient.answered();
    for (let at = 0; at < tooLarge.byteLength && !fromClient.isOver;) {
      await host.link.until(() => fromClient.open > 0 || fromClient.isOver);
      const piece = tooLarge.subarray(at, at + Math.min(fromClient.open, 65_536));
      at += piece.byteLength;
      fromClient.sendNow(FRAME.BINARY, piece);
    }
    expect((await fromClient.over()).closed?.code).toBe(1009);
  });

  test("whose worker breaks off is reset; whose client does ends at the worker", async ({ expect }) => {
    const ended = Promise.withResolvers<number>();
    await using host = await start((socket, url) => {
      if (url === "/breaks") socket.terminate();
      else socket.on("close", ended.resolve);
    });
    const broken = await host.link.request("w1", upgrade([], "/breaks")).over();
    expect(broken.reset?.reason).toBe("worker_failed");
    const aborted = host.link.request("w1", upgrade());
    await aborted.answered();
    aborted.abort();
    expect(await ended.promise).toBe(1006);
    await host.quiet();
  });

  test("whose client does not read stops its worker from sending, and no other", async ({ expect }) => {
    const sent = { bytes: 0 };
    await using host = await start((socket, url) => {
      if (url !== "/flood") return void echo(socket);
      const more = () => {
        sent.bytes += 100_000;
        if (sent.bytes < 200_000_000) socket.send(Buffer.alloc(100_000), () => more());
      };
      more();
    });
    const flooded = host.link.request("w1", upgrade([], "/flood"));
    flooded.isReading = false;
    const other = host.link.request("w1", upgrade());
    await host.link.until(() => flooded.credit === 0);
    for (let count = 0; count < 200; count += 1) {
      other.message(`ping ${count};`);
      await other.received(`ping ${count};`);
    }
    expect(flooded.receivedBytes).toBe(65_536);
    expect(sent.bytes).toBeLessThan(50_000_000); // what stands in the kernel's buffers
  });

  test("answers pings of the worker without forwarding them", async ({ expect }) => {
    const pong = Promise.withResolvers<string>();
    await using host = await start((socket) => {
      socket.on("pong", (bytes: Buffer) => pong.resolve(bytes.toString()));
      socket.ping("are you there");
    });
    const stream = host.link.request("w1", upgrade());
    expect(await pong.promise).toBe("are you there");
    expect(stream.pieces).toEqual([]);
  });

  test("sends no heartbeats: it may be open for days", async ({ expect }) => {
    await using host = await start(echo);
    await host.link.request("w1", upgrade()).answered();
    await using other = await LinkFixture.start(() => {}, { linkBeatMs: 50 });
    other.link.request("w1");
    await other.link.until(() => other.link.beats === 4);
    expect(host.link.beats).toBe(0);
  });
});
