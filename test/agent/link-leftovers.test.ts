import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, test } from "vitest";
import { WebSocketServer } from "ws";
import type { RequestHead } from "../../src/link/link-messages.ts";
import { LINK_WINDOW_BYTES } from "../../src/link/link-window.ts";
import { LinkFixture } from "../support/link-fixture.ts";
import type { ScriptedStream } from "../support/scripted-link.ts";

/** A server that does what the path says, and knows who is connected. */
async function pliantWorker(host: LinkFixture): Promise<{ server: Server; sockets: Set<Socket> }> {
  const server = createServer((request, response) => {
    if (request.url === "/silent") return;
    if (request.url === "/broken") return void request.socket.destroy();
    if (request.url === "/cut")
      return void response.writeHead(200).write("cut", () => request.socket.destroy());
    if (request.url === "/endless") return void response.writeHead(200).write("begun");
    if (request.url === "/early") return void response.writeHead(413).end("early");
    request.pipe(response);
  });
  const upgrades = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (request.url === "/refused") return void socket.end("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
    if (request.url === "/broken") return void socket.destroy();
    upgrades.handleUpgrade(request, socket, head, (opened) => {
      opened.on("message", (message) => opened.send(message));
      if (request.url === "/closed") opened.close(4000, "closed");
      if (request.url === "/wordy") opened.send(body);
    });
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      host.link.changed();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host.admission.ports.set("w1", (server.address() as AddressInfo).port);
  host.links.admissionChanged("endpoint-1");
  return { server, sockets };
}

type Ask = (head?: Partial<RequestHead>, body?: Uint8Array | "follows") => ScriptedStream;

const body = Buffer.alloc(200_000, "x");
const socket = (target: string): Partial<RequestHead> => ({ kind: "websocket", target });

/** Requests of all kinds, each from its begin to its end. */
const COURSES: Record<string, (ask: Ask) => unknown> = {
  answered: (ask) => ask().over(),
  echoed: async (ask) => {
    const stream = ask({ method: "POST" }, "follows");
    await stream.send(body, { isLast: true });
    await stream.over();
  },
  "aborted at once": (ask) => ask().abort(),
  "aborted while it waits": async (ask) => {
    const stream = ask({ target: "/silent", method: "POST" }, "follows");
    await stream.send(body.subarray(0, 100));
    stream.abort();
  },
  "aborted while it is answered": async (ask) => {
    const stream = ask({ target: "/endless" });
    await stream.received("begun");
    stream.abort();
  },
  "answered early": async (ask) => {
    const stream = await ask({ target: "/early", method: "POST" }, "follows").over();
    stream.abort();
  },
  broken: (ask) => ask({ target: "/broken" }).over(),
  cut: (ask) => ask({ target: "/cut" }).over(),
  wrong: (ask) => ask({ target: "/a b" }).over(),
  "a WebSocket that the client closes": async (ask) => {
    const stream = ask(socket("/"));
    await stream.answered();
    stream.message("hello");
    await stream.received("hello");
    stream.close({ code: 1000, reason: "" });
    await stream.over();
  },
  "a WebSocket that the client closes while it does not read": async (ask) => {
    const stream = ask(socket("/wordy"));
    stream.isReading = false;
    await stream.received(body.subarray(0, LINK_WINDOW_BYTES).toString());
    stream.close({ code: 1000, reason: "" });
    await stream.over();
  },
  "a WebSocket that the worker closes": async (ask) => {
    const stream = await ask(socket("/closed")).over();
    stream.close({ code: 4000, reason: "" });
  },
  "a WebSocket that is aborted": async (ask) => {
    const stream = ask(socket("/"));
    await stream.answered();
    stream.abort();
  },
  "a WebSocket that is aborted at once": (ask) => ask(socket("/")).abort(),
  "a WebSocket that is refused": (ask) => ask(socket("/refused")).over(),
  "a WebSocket that is broken": (ask) => ask(socket("/broken")).over(),
};

describe("requests that are over", () => {
  test("leave no connection, timer or admitted request, however they ended", async ({ expect }) => {
    await using host = await LinkFixture.create();
    await host.open();
    const { server, sockets } = await pliantWorker(host);
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const ask: Ask = (head, content) => host.link.request("w1", head, content);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Object.values(COURSES).map((course) => course(ask)));
    }
    await host.quiet();
    await host.link.until(() => sockets.size === 0); // those that were kept as well
    expect(timers()).toBeLessThan(before + 10);
    expect(host.link.violations).toEqual([]);
    host.links.keep([]);
    await host.link.until(() => !host.link.isOpen); // a link with requests would not end so soon
    server.close();
  });

  test.for(Object.entries(COURSES))(
    "leave no admitted request: one that was %s",
    async ([, course], { expect }) => {
      await using host = await LinkFixture.create();
      await host.open();
      const { server } = await pliantWorker(host);
      await course((head, content) => host.link.request("w1", head, content));
      await host.quiet();
      expect(host.admission.inside).toBe(0);
      server.closeAllConnections();
      server.close();
    },
  );
});
