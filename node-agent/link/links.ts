/** The links of an agent: one for each load-balanced endpoint that has workers on its host, and each pod with HTTP ports. */
import { Agent } from "node:http";
import { WindowBudget, LINK_WINDOWS_BUDGET_BYTES } from "../../src/link/link-window.ts";
import { BufferedMessages } from "./message-buffer.ts";
import { Link, type LinkOptions } from "./link.ts";

export type LinksOptions = Omit<LinkOptions, "of" | "endpointId" | "connections" | "budget" | "buffered">;

/**
 * How long a connection to a worker is kept for another request: much shorter than servers keep them, because a server
 * that closes one just as a request goes out has cost that request.
 */
const CONNECTION_IDLE_MS = 1_000;

export class Links {
  readonly #options: LinksOptions;
  readonly #links = new Map<string, Link>();
  #isStopped = false;
  readonly #connections = new Agent({ keepAlive: true, timeout: CONNECTION_IDLE_MS, scheduling: "lifo" });
  readonly #budget = new WindowBudget(LINK_WINDOWS_BUDGET_BYTES);
  readonly #buffered = new BufferedMessages();

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /**
   * These endpoints, all of them, have load-balanced workers here, whether they take requests yet or not; and these
   * pods have HTTP ports.
   */
  keep(endpointIds: readonly string[], podIds: readonly string[] = []): void {
    if (this.#isStopped) return;
    for (const [endpointId, link] of this.#links) {
      if (endpointIds.includes(endpointId) || podIds.includes(endpointId)) continue;
      this.#links.delete(endpointId);
      void link.leave(this.#options.timing.linkGraceMs);
    }
    for (const endpointId of endpointIds) this.#ensure("endpoints", endpointId);
    for (const podId of podIds) this.#ensure("pods", podId);
  }

  admissionChanged(endpointId: string): void {
    this.#links.get(endpointId)?.admissionChanged();
  }

  /** Waits for requests that run, up to the limit. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#links.values()].map((link) => link.leave(graceMs)));
    this.#links.clear();
    this.#connections.destroy();
  }

  #ensure(of: LinkOptions["of"], endpointId: string): void {
    if (this.#links.has(endpointId)) return;
    const shared = { connections: this.#connections, budget: this.#budget, buffered: this.#buffered };
    this.#links.set(endpointId, new Link({ ...this.#options, ...shared, of, endpointId }));
  }
}
