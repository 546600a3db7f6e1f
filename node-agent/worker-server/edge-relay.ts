/** Passes requests of workers on to the edge, where containers cannot reach it themselves. */
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";

/** They concern one connection, not what is sent over it. */
const HOP_BY_HOP = new Set(["connection", "host", "keep-alive", "transfer-encoding", "upgrade"]);

export class EdgeRelay {
  readonly #edge: URL;

  constructor(edgeUrl: string) {
    this.#edge = new URL(edgeUrl);
  }

  /** `target` is path and query. The worker's own key goes along, and decides what it may do. */
  async pass(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = this.#edge.protocol === "https:" ? httpsRequest : httpRequest;
    const headers = passed(request.headers);
    const onward = send(this.#edge, { path: target, method: request.method, headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      onward.once("response", resolve).once("error", reject);
    });
    response.once("close", () => onward.destroy());
    try {
      const [answer] = await Promise.all([answered, pipeline(request, onward)]);
      response.writeHead(answer.statusCode ?? 502, passed(answer.headers));
      await pipeline(answer, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) return void response.destroy();
      const reason = error instanceof Error ? error.message : String(error);
      response.writeHead(502, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: `The edge cannot be reached: ${reason}` }));
    }
  }
}

function passed(headers: IncomingMessage["headers"]): IncomingMessage["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}
