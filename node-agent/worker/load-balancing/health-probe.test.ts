import { createServer, type RequestListener } from "node:http";
import { createServer as createSocketServer, type Server } from "node:net";
import { once } from "node:events";
import { describe, test } from "vitest";
import { probeHealth, HEALTH_BODY_MAX_BYTES } from "./health-probe.ts";

const never = new AbortController().signal;

async function listening(server: Server): Promise<{ port: number } & AsyncDisposable> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

function serve(listener: RequestListener) {
  return listening(createServer(listener));
}

function placeAt(port: number, healthPort = port) {
  return { host: "127.0.0.1", port, healthPort, healthPath: "/up?a=1" };
}

describe("a look at a worker's health", () => {
  test("asks for the path by GET, and returns the status", async ({ expect }) => {
    const asked: unknown[] = [];
    await using server = await serve((request, response) => {
      asked.push([request.method, request.url]);
      response.writeHead(204).end();
    });
    expect(await probeHealth(placeAt(server.port), never)).toEqual({ kind: "status", status: 204 });
    expect(asked).toEqual([["GET", "/up?a=1"]]);
  });

  test("follows no redirect", async ({ expect }) => {
    let count = 0;
    await using server = await serve((_, response) => {
      count += 1;
      response.writeHead(302, { location: "/healthy" }).end();
    });
    expect(await probeHealth(placeAt(server.port), never)).toEqual({ kind: "status", status: 302 });
    expect(count).toBe(1);
  });

  test("reads no more of an endless answer than its bound", async ({ expect }) => {
    const closed = Promise.withResolvers<number>();
    await using server = await serve((_, response) => {
      response.writeHead(200);
      const piece = Buffer.alloc(16 * 1024);
      const fill = (): void => {
        while (response.write(piece));
      };
      response.on("drain", fill).on("close", () => closed.resolve(response.socket?.bytesWritten ?? 0));
      fill();
    });
    expect(await probeHealth(placeAt(server.port), never)).toEqual({ kind: "status", status: 200 });
    await closed.promise; // by the side that asked
    expect(HEALTH_BODY_MAX_BYTES).toBeLessThan(1_000_000);
  });

  test("reports a closed port, and one that speaks no HTTP", async ({ expect }) => {
    const server = await listening(
      createSocketServer((socket) => socket.resume().end("SSH-2.0-OpenSSH_9.2\r\n")),
    );
    expect(await probeHealth(placeAt(server.port), never)).toMatchObject({ kind: "broken" });
    await server[Symbol.asyncDispose]();
    expect(await probeHealth(placeAt(server.port), never)).toEqual({ kind: "refused", port: server.port });
  });

  test("distinguishes a server that does not answer from an address that leads nowhere", async ({
    expect,
  }) => {
    const stopping = new AbortController();
    await using silent = await serve(() => stopping.abort());
    const asked = probeHealth(placeAt(silent.port), stopping.signal);
    expect(await asked).toEqual({ kind: "timeout" });

    const host = "255.255.255.255"; // nobody can be connected to there
    expect(await probeHealth({ ...placeAt(1), host }, never)).toEqual({ kind: "unreached", host, port: 1 });
  });

  test("finds the port for requests closed though the one for health is fine", async ({ expect }) => {
    await using health = await serve((_, response) => void response.end());
    const requests = await listening(createSocketServer((socket) => socket.resume()));
    const place = placeAt(requests.port, health.port);
    expect(await probeHealth(place, never)).toEqual({ kind: "status", status: 200 });
    await requests[Symbol.asyncDispose]();
    expect(await probeHealth(place, never)).toEqual({ kind: "refused", port: requests.port });
  });

  test("takes an upgrade for an answer that is not 200", async ({ expect }) => {
    await using server = await listening(
      createSocketServer((socket) => {
        socket.on("error", () => {}).resume();
        socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
      }),
    );
    expect(await probeHealth(placeAt(server.port), never)).toEqual({ kind: "status", status: 101 });
  });
});
