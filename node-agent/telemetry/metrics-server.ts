/** `GET /metrics` of an agent, on a port of its own. */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AgentMetrics } from "./agent-metrics.ts";

export type MetricsAddress = { readonly address: string; readonly port: number };

export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(metrics: AgentMetrics, { address, port }: MetricsAddress): Promise<MetricsServer> {
    const server = createServer((request, response) => {
      if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics") {
        return void response.writeHead(404).end();
      }
      metrics.expose().then(
        ({ text, type }) => response.writeHead(200, { "Content-Type": type }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    server.listen(port, address);
    await once(server, "listening");
    return new MetricsServer(server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
