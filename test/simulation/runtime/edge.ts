/** The whole edge in a world: the Worker script, its objects, D1 and R2. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Machine, type World } from "../world/world.ts";
import { migrated, SimulatedD1 } from "./d1.ts";
import { transferred } from "./transferred-stream.ts";
import { clientRequest, isStreamed } from "./client-request.ts";
import { injectedMessage, isInjected } from "./injected.ts";
import { emptyCaches } from "./isolate-caches.ts";
import { breakSocket, type Network } from "./network.ts";
import { type Answer, type ObjectClass, SimulatedObject } from "./objects.ts";
import { SimulatedBucket } from "./r2.ts";
import { rateLimitsOf } from "./rate-limit.ts";
import { resetBy } from "./resets.ts";
import { SimulatedNamespace } from "./stubs.ts";

const ROOT = join(import.meta.dirname, "../../..");

export const ROOT_KEY = "root-key-of-the-simulation-with-40-chars";
export const EDGE_URL = "https://edge.test";

/** Time after which a repeated request comes again, typically. */
const REPEATED_MS = 300;
/** Of wrangler.toml. */
const CRON_MS = 5 * 60_000;

export type EdgeCode = {
  readonly default: {
    fetch(request: Request, env: unknown, context: unknown): Promise<Response>;
    scheduled(event: unknown, env: unknown): Promise<void>;
  };
  readonly EndpointObject: ObjectClass;
  readonly FleetObject: ObjectClass;
  readonly PodObject: ObjectClass;
  readonly HostObject: ObjectClass;
};

/** The production code of a checkout; it runs on machines of whatever world is entered. */
export async function loadEdge(checkout: string): Promise<EdgeCode> {
  return (await import(pathToFileURL(join(checkout, "src/index.ts")).href)) as EdgeCode;
}

const EMPTY_D1 = migrated(
  readdirSync(join(ROOT, "drizzle"))
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) =>
      readFileSync(join(ROOT, "drizzle", name), "utf8").replaceAll("--> statement-breakpoint", ""),
    )
    .join("\n"),
);

/** The client of an answer is gone. */
function leave(answer: Response): void {
  breakSocket(answer);
  void answer.body?.cancel().catch(() => {});
}

export class SimulatedEdge {
  readonly script = new Machine("script");
  readonly endpoints: SimulatedNamespace;
  readonly fleets: SimulatedNamespace;
  readonly pods: SimulatedNamespace;
  readonly hosts: SimulatedNamespace;
  readonly d1: SimulatedD1;
  readonly payloads: SimulatedBucket;
  readonly env: Record<string, unknown>;
  readonly #world: World;
  readonly #network: Network;
  #code: EdgeCode;
  readonly #requests = new Set<Answer>();
  /** Requests whose signals would follow those of their clients no longer once they were collected as garbage. */
  readonly #kept: Request[] = [];
  /** Servers on which objects wake have clocks that differ by as much. */
  clockSkewMs = 0;

  constructor(world: World, network: Network, code: EdgeCode) {
    this.#world = world;
    this.#network = network;
    this.#code = code;
    this.endpoints = this.#namespace("endpoint", () => this.#code.EndpointObject);
    this.fleets = this.#namespace("fleet", () => this.#code.FleetObject);
    this.pods = this.#namespace("pod", () => this.#code.PodObject);
    this.hosts = this.#namespace("host", () => this.#code.HostObject);
    this.d1 = new SimulatedD1(network, EMPTY_D1);
    this.payloads = new SimulatedBucket(network, "payloads");
    this.env = {
      ENDPOINT: this.endpoints,
      FLEET: this.fleets,
      POD: this.pods,
      HOST: this.hosts,
      DB: this.d1,
      PAYLOADS: this.payloads,
      LOGS: new SimulatedBucket(network, "logs"),
      ARTIFACTS: new SimulatedBucket(network, "artifacts"),
      ASSETS: { fetch: async () => new Response(null, { status: 404 }) },
      ROOT_API_KEY: ROOT_KEY,
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
      WEBHOOK_ALLOW_PRIVATE: "true",
      WITHOUT_CLOUDFLARE: "true",
      ...rateLimitsOf(world),
    };
    network.serve("edge.test", (request) => this.#receive(request));
  }

  get objects(): SimulatedObject[] {
    return [this.endpoints, this.fleets, this.pods, this.hosts].flatMap(({ objects }) => [
      ...objects.values(),
    ]);
  }

  /** Whether it was not deleted; its object may be emptied later. */
  hasEndpoint(endpointId: string): boolean {
    return this.d1.database.prepare("SELECT id FROM endpoint WHERE id = ?").get(endpointId) !== undefined;
  }

  /** Another version of the code takes over. */
  upgrade(code: EdgeCode): void {
    this.#code = code;
    this.redeploy();
  }

  /** All objects and the script start again with their code: nothing in memory is left. */
  redeploy(): void {
    for (const object of this.objects) object.crash(resetBy());
    this.crashScript();
  }

  /** Maintenance every five minutes, as the platform starts it; the first at any time. */
  startCron(): void {
    const platform = new Machine("platform");
    const next = (delayMs: number): void =>
      void this.#world.schedule(platform, delayMs, "cron", () => {
        this.maintain();
        next(CRON_MS);
      });
    next(this.#world.random.whole(0, CRON_MS));
  }

  /** Each of its tasks logs what it could not do. */
  maintain(): void {
    this.#world.on(this.script, () => void this.#code.default.scheduled({}, this.env));
  }

  /** Requests that are under way fail, and what isolates remember is gone. */
  crashScript(): void {
    this.#world.crash(this.script);
    emptyCaches();
    const requests = [...this.#requests];
    this.#requests.clear();
    for (const { fail } of requests) fail(new Error(injectedMessage("The connection was closed.")));
  }

  #receive(request: Request): Promise<unknown> {
    return this.#network.ask({
      what: `${request.method} ${new URL(request.url).pathname}`,
      opensConnection: request.headers.has("upgrade"),
      send: (answer) => {
        if (this.#isStray(request)) return answer.succeed(new Response("There is nothing.", { status: 404 }));
        if (this.#isRepeated(request)) this.#repeat(request.clone());
        this.#requests.add(answer);
        const received = clientRequest(this.#network, this.script, request);
        if (received !== request) this.#kept.push(request, received);
        this.#world.on(this.script, () => void this.#serve(received, answer));
      },
    });
  }

  #isStray({ url }: Request): boolean {
    return url.endsWith("/exchange") && this.#network.strikes("strayAnswers");
  }

  /**
   * Nothing between repeats the request for a WebSocket or a stream: nobody would be at the other end of the second one.
   * Nor one to a worker, of which the edge promises that it is made once.
   */
  #isRepeated(request: Request): boolean {
    const isRepeated = this.#network.strikes("requestsRepeated");
    return isRepeated && !request.headers.has("upgrade") && !isStreamed(request);
  }

  /** The same request once more, whose answer nobody awaits. */
  #repeat(request: Request): void {
    const nobody: Answer = { succeed() {}, fail() {} };
    this.#requests.add(nobody);
    this.#world.schedule(
      this.script,
      this.#world.random.delay(REPEATED_MS),
      `${request.method} again`,
      () => void this.#serve(request, nobody),
    );
  }

  /** What arrives of an answer. */
  async #transmitted(request: Request, response: Response): Promise<Response> {
    const { body, status, headers } = response;
    const isTorn = body !== null && this.#network.strikes("bodiesTorn");
    if (body === null || status === 101) return response;
    const head = { status, headers };
    if (isStreamed(request))
      return new Response(
        transferred({ network: this.#network, source: body, from: this.script, isTorn }),
        head,
      );
    if (!isTorn) return response;
    // One that breaks off by itself is torn at its beginning.
    const bytes = await response.bytes().catch(() => new Uint8Array());
    return new Response(bytes.subarray(0, Math.floor(bytes.byteLength / 2)), head);
  }

  async #serve(request: Request, answer: Answer): Promise<void> {
    const context = {
      waitUntil: (work: Promise<unknown>) => this.#awaitLate(work),
      passThroughOnException() {},
      props: {},
    };
    try {
      const response = await this.#code.default.fetch(request, this.env, context);
      const transmitted = await this.#transmitted(request, response);
      if (this.#requests.delete(answer)) answer.succeed(transmitted);
      else leave(transmitted);
    } catch (error) {
      this.#world.uncaught.push(error);
      if (this.#requests.delete(answer)) answer.succeed(new Response("error", { status: 500 }));
    }
  }

  #namespace(kind: string, objectClass: () => ObjectClass): SimulatedNamespace {
    return new SimulatedNamespace(
      (name) =>
        new SimulatedObject(this.#network, `${kind} ${name}`, {
          idName: name,
          objectClass,
          env: () => this.env,
          clockAheadMs: () => this.#world.random.whole(-this.clockSkewMs, this.clockSkewMs),
        }),
    );
  }

  /** Work of the script after its answer: the runtime logs what fails there. */
  #awaitLate(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!isInjected(error)) this.#world.uncaught.push(error);
    });
  }
}
