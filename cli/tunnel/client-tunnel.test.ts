/** Tunnels of the command, against a WebSocket server that speaks as the edge and an agent do. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { TunnelChannel, type TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import { TUNNEL_CLOSE } from "../../src/tunnel/tunnel-messages.ts";
import { ClientTunnel } from "./client-tunnel.ts";

/** Answers a request with a WebSocket, or with an error of the edge. */
type Rejection = { readonly status: number; readonly code: string };

class Peer {
  readonly addresses: URL[] = [];
  readonly received: TunnelMessage[] = [];
  readonly sockets = new WebSocketServer({ noServer: true });
  readonly server = createServer();
  rejection: Rejection | undefined;
  /** It takes messages, and answers none. */
  isSilent = false;
  readonly channel = new TunnelChannel({
    onMessage: (message, consumed) => {
      consumed();
      this.received.push(message);
      if (!this.isSilent) this.channel.send(`${message.length}`);
    },
    onDrain() {},
  });

  async listen(): Promise<void> {
    this.server.on("upgrade", (request, socket, head) => {
      this.addresses.push(new URL(request.url ?? "", "http://edge"));
      if (this.rejection === undefined)
        this.sockets.handleUpgrade(request, socket, head, (opened) => this.#serve(opened, request));
      else socket.end(textOf(this.rejection));
    });
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The next connection that it accepts. */
  async connected(): Promise<WebSocket> {
    return (await once(this.sockets, "connection"))[0] as WebSocket;
  }

  #serve(socket: WebSocket, request: IncomingMessage): void {
    socket.on("message", (data: Buffer, isBinary) => {
      this.channel.receive(socket, isBinary ? data : data.toString());
    });
    socket.on("close", () => this.channel.detach(socket));
    this.channel.attach(socket);
    this.sockets.emit("connection", socket, request);
  }

  close(): void {
    for (const socket of this.sockets.clients) socket.terminate();
    this.server.close();
  }
}

function textOf({ status, code }: Rejection): string {
  const body = JSON.stringify({ error: "No.", code });
  return `HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

let peer: Peer;
let messages: TunnelMessage[];
let arrived: (() => void) | undefined;

beforeEach(async () => {
  peer = new Peer();
  messages = [];
  await peer.listen();
});
afterEach(() => {
  vi.useRealTimers();
  peer.close();
});

async function open(): Promise<{ readonly tunnel: ClientTunnel; readonly socket: WebSocket }> {
  const connected = peer.connected();
  const tunnel = await ClientTunnel.open({
    service: { url: peer.url, apiKey: "key" },
    target: { containerId: "pod" },
    onMessage: (message, consumed) => {
      messages.push(message);
      consumed();
      arrived?.();
    },
    onDrain() {},
  });
  return { tunnel, socket: await connected };
}

/** Waits until so many messages have come. */
async function came(count: number): Promise<void> {
  while (messages.length < count) await new Promise<void>((resolve) => (arrived = resolve));
}

describe("a tunnel of the command", () => {
  test.for([
    { what: "lost", cut: (socket: WebSocket) => socket.terminate() },
    { what: "to be renewed", cut: (socket: WebSocket) => socket.close(TUNNEL_CLOSE.renew) },
  ])("goes on over another connection when one is $what", async ({ cut }, { expect }) => {
    const { tunnel, socket } = await open();
    tunnel.send("a");
    await came(1);
    const connected = peer.connected();
    cut(socket);
    tunnel.send("bc");
    await connected;
    await came(2);
    expect(messages).toEqual(["1", "2"]);
    expect(peer.received).toEqual(["a", "bc"]);
    const [first, second] = peer.addresses.map(({ searchParams }) => searchParams);
    expect([first?.get("resume"), second?.get("resume")]).toEqual([null, "true"]);
    expect(second?.get("tunnel")).toBe(first?.get("tunnel"));
    tunnel.close();
    await tunnel.over;
  });

  test("replaces a connection that is silent, which nobody has closed", async ({ expect }) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const { tunnel, socket } = await open();
    const connected = peer.connected();
    socket.pause();
    vi.advanceTimersByTime(60_000);
    await connected;
    expect(peer.addresses).toHaveLength(2);
    tunnel.close();
  });

  test("replaces a connection on which the agent answers nothing, and ends if it has gone", async ({
    expect,
  }) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const { tunnel, socket } = await open();
    tunnel.send("a");
    await came(1);
    const pass = async (): Promise<void> => {
      vi.advanceTimersByTime(10_000); // one ping
      await once(socket, "ping");
      socket.ping();
      await once(socket, "pong"); // so the client has the answer to its own one, too
    };
    for (let passes = 0; passes < 5; passes += 1) await pass();
    expect(peer.addresses).toHaveLength(1); // nothing is unanswered
    peer.isSilent = true;
    peer.rejection = { status: 409, code: "container_not_running" };
    tunnel.send("b");
    await pass();
    await pass();
    vi.advanceTimersByTime(10_000);
    await expect(tunnel.over).rejects.toMatchObject({ code: "container_not_running" });
  });

  test("tries again while the edge is away, and ends when the agent has the tunnel no more", async ({
    expect,
  }) => {
    const { tunnel, socket } = await open();
    peer.rejection = { status: 503, code: "host_not_connected" };
    peer.server.on("upgrade", () => {
      if (peer.addresses.length === 3) peer.rejection = { status: 410, code: "tunnel_gone" };
    });
    socket.terminate();
    await expect(tunnel.over).rejects.toThrow("No.");
    expect(peer.addresses.length).toBeGreaterThanOrEqual(4);
  });

  test("is not opened where the edge rejects it, and says why", async ({ expect }) => {
    peer.rejection = { status: 409, code: "container_not_running" };
    await expect(open()).rejects.toMatchObject({ code: "container_not_running", message: "No." });
  });

  test("is left when the other side knows that it is over", async ({ expect }) => {
    const { tunnel, socket } = await open();
    const closed = once(socket, "close");
    await tunnel.leave();
    expect((await closed)[0]).toBe(TUNNEL_CLOSE.over);
    await tunnel.leave(); // again
  });

  test("ends with a failure when it was idle for too long", async ({ expect }) => {
    const { tunnel, socket } = await open();
    socket.close(TUNNEL_CLOSE.idle);
    await expect(tunnel.over).rejects.toMatchObject({ name: "Failure" });
  });
});

describe("a container is checked", () => {
  const check = (): Promise<void> =>
    ClientTunnel.check({ url: peer.url, apiKey: "key" }, { containerId: "pod", port: 80 });

  test.for([
    { status: 410, code: "tunnel_gone" },
    { status: 409, code: "container_not_running" },
    { status: 503, code: "host_not_connected" },
  ])("and may be reached, now or later: $code", async (rejection, { expect }) => {
    peer.rejection = rejection;
    await expect(check()).resolves.toBeUndefined();
    expect(peer.addresses.map(({ searchParams }) => searchParams.get("resume"))).toEqual(["true"]);
  });

  test.for([
    { status: 404, code: "not_found" },
    { status: 401, code: "insufficient_permission" },
    { status: 409, code: "pod_stopped" },
  ])("and refused: $code", async (rejection, { expect }) => {
    peer.rejection = rejection;
    await expect(check()).rejects.toMatchObject({ code: rejection.code });
  });

  test("and cannot be reached where the edge is not", async ({ expect }) => {
    const { url } = peer;
    peer.close();
    await expect(ClientTunnel.check({ url, apiKey: "key" }, { containerId: "pod" })).rejects.toThrow(url);
  });
});
