/** A front before a service that ends event streams after their first bytes: some of them would never end. */
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** More than the service accepts. */
const HEAD_MAX_BYTES = 1_000_000;

/** Its URL, until it is disposed of. All else passes unchanged. */
export async function openBoundedFront(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const { hostname, port } = new URL(target);
  const server = createServer({ maxHeaderSize: HEAD_MAX_BYTES }, (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const onward = httpRequest({ hostname, port, method, path, headers }, (answer) =>
      passOn(answer, response),
    );
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function passOn(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
  answer.on("error", () => response.destroy());
  answer.pipe(response);
  if (!answer.headers["content-type"]?.startsWith("text/event-stream")) return;
  answer.once("data", () => {
    answer.unpipe(response);
    answer.destroy();
    response.end();
  });
}
