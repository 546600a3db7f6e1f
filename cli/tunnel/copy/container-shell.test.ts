/** Scripts in a container, against a WebSocket server that starts a command and says no more. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { onTestFinished, test } from "vitest";
import { TunnelChannel } from "../../../src/tunnel/tunnel-channel.ts";
import { OUTPUT } from "../../../src/tunnel/tunnel-messages.ts";
import { ContainerShell } from "./container-shell.ts";

type Said = string | Uint8Array;

/** Says these messages to each command once it is started. */
async function shellOf(said: readonly Said[]): Promise<ContainerShell> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => {
    const channel: TunnelChannel = new TunnelChannel({
      onMessage: (message, consumed) => {
        consumed();
        if (typeof message !== "string" || !message.includes('"start"')) return;
        for (const one of said) channel.send(one);
      },
      onDrain() {},
    });
    socket.on("message", (data: Buffer, isBinary) => {
      channel.receive(socket, isBinary ? data : data.toString());
    });
    channel.attach(socket);
  });
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  return new ContainerShell({ url, apiKey: "key" }, "pod1", { signal, onConnection() {} });
}

const STARTED = JSON.stringify({ type: "started" });

test("an input that cannot be read ends the script with that error", async ({ expect }) => {
  const shell = await shellOf([STARTED]);
  async function* input(): AsyncIterable<Uint8Array> {
    yield Buffer.from("some");
    throw new Error("EACCES");
  }
  await expect(shell.run("cat", [], { input: input() })).rejects.toThrow("EACCES");
});

test("what is printed is text, wherever its messages begin", async ({ expect }) => {
  const [first, second] = [Buffer.from("ü").subarray(0, 1), Buffer.from("ü").subarray(1)];
  const print = (bytes: Uint8Array): Uint8Array => Buffer.concat([Buffer.of(OUTPUT.stdout), bytes]);
  const exit = JSON.stringify({ type: "exit", code: 0 });
  const shell = await shellOf([STARTED, print(first), print(second), exit]);
  expect(await shell.run("printf ü", [])).toEqual({ stdout: "ü", stderr: "" });
});
