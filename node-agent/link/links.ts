/**
 * The links of an agent: one for each load-balanced endpoint that has workers on its host, one for each pod with HTTP
 * ports, and one for the tunnels to all containers.
 */
import { Agent } from "node:http";
import { WindowBudget, LINK_WINDOWS_BUDGET_BYTES } from "../../src/link/link-window.ts";
import { BufferedMessages } from "./message-buffer.ts";
import type { AdmissionControl } from "./admission.ts";
import { Link, type LinkOptions } from "./link.ts";
import type { StreamOpener } from "./link-stream.ts";
import { RequestOpener } from "./request-opener.ts";

export type LinksOptions = Omit<LinkOptions, "of" | "opener" | "openWorkers" | "budget"> & {
  readonly admissionControl: AdmissionControl;
};

/**
 * How long a connection to a worker is kept for another request: much shorter than servers keep them, because a server
 * that closes one just as a request goes out has cost that request.
 */
const CONNECTION_IDLE_MS = 1_000;

/** What tunnels say last needs so long at most. */
const HOST_GRACE_MS = 1_000;

export class Links {
  readonly #options: LinksOptions;
  readonly #links = new Map<string, Link>();
  #hostLink: Link | undefined;
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

  /** Opens the link of the host itself, whose streams are no requests to workers. */
  openHost(opener: StreamOpener): void {
    this.#hostLink ??= this.#create("host", opener, () => []);
  }

  /** Waits for requests that run, up to the limit. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const links = [...this.#links.values()].map((link) => link.leave(graceMs));
    await Promise.all([...links, this.#hostLink?.leave(Math.min(graceMs, HOST_GRACE_MS))]);
    this.#links.clear();
    this.#connections.destroy();
  }

  #ensure(kind: "endpoints" | "pods", endpointId: string): void {
    if (this.#links.has(endpointId)) return;
    const { admissionControl } = this.#options;
    const shared = { connections: this.#connections, buffered: this.#buffered };
    const opener = new RequestOpener({ ...shared, endpointId, admissionControl });
    const openWorkers = () => admissionControl.openWorkers(endpointId);
    this.#links.set(
      endpointId,
      this.#create(`${kind}/${encodeURIComponent(endpointId)}`, opener, openWorkers),
    );
  }

  #create(of: string, opener: StreamOpener, openWorkers: LinkOptions["openWorkers"]): Link {
    return new Link({ ...this.#options, budget: this.#budget, of, opener, openWorkers });
  }
}
