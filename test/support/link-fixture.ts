/** Links of an agent against a scripted edge, and servers on this machine as their workers. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { AdmissionControl, Admission } from "../../node-agent/link/admission.ts";
import { Links } from "../../node-agent/link/links.ts";
import { Reachability } from "../../node-agent/edge/edge-context.ts";
import type { AgentEvent, AgentLog } from "../../node-agent/core/log.ts";
import { TIMING, type Timing } from "../../node-agent/core/timing.ts";
import { LINK_TOKEN, ScriptedLink } from "./scripted-link.ts";

export const ENDPOINT = "endpoint-1";

/** Workers by their ports. */
class ScriptedAdmission implements AdmissionControl {
  readonly ports = new Map<string, number>();
  onChange: (endpointId: string) => void = () => {};
  /** Requests that are inside. */
  inside = 0;
  readonly suspected: string[] = [];
  /** Those that have refused a connection; they take no requests. */
  readonly refusing: string[] = [];
  readonly #onLeave: () => void;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  openWorkers(): readonly string[] {
    return [...this.ports.keys()];
  }

  admit(_: string, workerId: string): Admission | null {
    const port = this.ports.get(workerId);
    if (port === undefined) return null;
    this.inside += 1;
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) throw new Error("given back twice");
      hasLeft = true;
      this.inside -= 1;
      this.#onLeave();
    };
    return { host: "127.0.0.1", port, release: leave };
  }

  connectionFailed(_: string, workerId: string): void {
    this.suspected.push(workerId);
  }

  connectionRefused(endpointId: string, workerId: string): void {
    this.refusing.push(workerId);
    this.ports.delete(workerId);
    this.onChange(endpointId);
  }
}

export class LinkFixture {
  readonly link: ScriptedLink;
  readonly links: Links;
  readonly admission: ScriptedAdmission;
  readonly events: AgentEvent[] = [];
  unauthorized = 0;
  readonly #servers = new Set<Server>();

  private constructor(link: ScriptedLink, timing: Partial<Timing>) {
    this.link = link;
    this.admission = new ScriptedAdmission(() => link.changed());
    const log = this.#log();
    this.admission.onChange = (endpointId) => this.links.admissionChanged(endpointId);
    this.links = new Links({
      edgeUrl: link.url,
      hostToken: LINK_TOKEN,
      admissionControl: this.admission,
      log,
      reachability: new Reachability(log),
      timing: { ...TIMING, edgeRetryBaseMs: 20, edgeRetryCapMs: 200, ...timing },
      random: Math.random,
      onUnauthorized: () => {
        this.unauthorized += 1;
        link.changed();
      },
    });
  }

  /** Nothing is linked yet. */
  static async create(timing: Partial<Timing> = {}): Promise<LinkFixture> {
    return new LinkFixture(await ScriptedLink.start(), timing);
  }

  /** One worker, whose server answers by the listener, and a link that is open. */
  static async start(listener: RequestListener, timing: Partial<Timing> = {}): Promise<LinkFixture> {
    const fixture = await LinkFixture.create(timing);
    await fixture.worker("w1", listener);
    await fixture.open();
    return fixture;
  }

  async open(): Promise<void> {
    this.links.keep([ENDPOINT]);
    await this.link.until(() => this.link.said.length > 0);
  }

  async worker(workerId: string, listener: RequestListener): Promise<Server> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.add(server);
    this.admission.ports.set(workerId, (server.address() as AddressInfo).port);
    this.links.admissionChanged(ENDPOINT);
    return server;
  }

  /** All that was entered was left. */
  async quiet(): Promise<void> {
    await this.link.until(() => this.admission.inside === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links.stop(0);
    for (const server of this.#servers) server.closeAllConnections();
    await Promise.all([...this.#servers].map((server) => new Promise((resolve) => server.close(resolve))));
    await this.link[Symbol.asyncDispose]();
  }

  #log(): AgentLog {
    const note = (event: AgentEvent) => {
      this.events.push(event);
      this.link.changed();
    };
    return { debug: note, info: note, warn: note, error: note };
  }
}
