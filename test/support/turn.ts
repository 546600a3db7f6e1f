/** What is made once for all tests is made by one process; the others wait for it. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Runs the work while no other process of this machine runs work of the same name. */
export async function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  // A name without a file: it is free again when its process ends, in whatever way.
  await using _turn = await takeTurn(`\0edgerun-tests-${name}`);
  return await work();
}

async function takeTurn(path: string): Promise<AsyncDisposable> {
  for (;;) {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => void waiting.add(socket.on("error", () => {})));
    try {
      await once(server.listen(path), "listening");
      return {
        async [Symbol.asyncDispose]() {
          server.close();
          for (const socket of waiting) socket.destroy();
          await once(server, "close");
        },
      };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
      await untilGone(path);
    }
  }
}

/** Resolves once nobody listens there any more. */
async function untilGone(path: string): Promise<void> {
  await new Promise<void>((resolve) => {
    connect(path)
      .on("error", () => {})
      .on("close", () => resolve())
      .resume();
  });
}
