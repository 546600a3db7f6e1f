/** Takes webhooks, at once and whatever they say. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function receiveWebhooks(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, reply) => {
    request.resume().on("end", () => reply.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
