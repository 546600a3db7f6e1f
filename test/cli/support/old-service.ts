/** An account of the service that people come from: the documented shapes of its REST API v2 and of GraphQL. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export const OLD_KEY = "rpa_0123456789ABCDEF";

const CONTAINER = {
  image: "ghcr.io/acme/worker:1.4",
  args: "",
  disk: 20,
  ports: [],
  env: {},
  registry: null,
};
const WORKERS = { min: 0, max: 3, idleTimeout: 5 };
const GPU = { pools: ["ADA_24"], count: 1, allowedCudaVersions: [], minCudaVersion: null };

/** Settings by turns, so that every kind of endpoint is among a few. */
const VARIANTS: readonly object[] = [
  { type: "QUEUE", gpu: { ...GPU, excludedTypes: ["NVIDIA L4"], minCudaVersion: "12.4" } },
  {
    type: "LOAD_BALANCER",
    gpu: GPU,
    scaling: { type: "REQUEST_COUNT", requestCount: 7 },
    ports: ["8000/http"],
  },
  { type: "QUEUE", cpu: [{ id: "cpu3c", vcpuCount: 2, memory: 4 }], flashboot: "FLASHBOOT", disk: 10 },
  {
    type: "QUEUE",
    gpu: { ...GPU, pools: ["AMPERE_80", "ADA_24"], count: 2 },
    registry: "reg1",
    args: "--fast 'a b'",
  },
  {
    type: "QUEUE",
    gpu: { ...GPU, allowedCudaVersions: ["12.8", "12.6"] },
    env: { TOKEN: "{{ RUNPOD_SECRET_hf }}", "A.b": 'x="y" z' },
    networkVolumes: ["vol1"],
    dataCenterIds: ["EU-RO-1"],
    workers: { min: 0, max: 0 },
    scaling: { type: "REQUEST_COUNT", requestCount: 2 },
  },
];

export function oldEndpoint(index: number, changes: object = {}): object {
  return {
    ...CONTAINER,
    id: `ep${index}`,
    name: `endpoint ${Math.floor(index / 2)}`, // names are not unique there
    workers: WORKERS,
    scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    dataCenterIds: [],
    networkVolumes: [],
    timeout: 300_000 + index,
    flashboot: "OFF",
    createdAt: "2026-06-01T12:00:00Z",
    requestUrls: {},
    ...VARIANTS[index % VARIANTS.length],
    ...changes,
  };
}

export const OLD_ACCOUNT: Readonly<Record<string, readonly object[]>> = {
  "/v2/account/ssh-keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILXGDN me@example.com"] as never,
  "/v2/registries": [{ id: "reg1", name: "docker hub" }],
  "/v2/registries/delegations": [{ id: "del1", repository: "acme/private", awsRegion: "us-east-2" }],
  "/v2/network-volumes": [
    { id: "vol1", name: "models", size: 4_096, dataCenter: "EU-RO-1", type: "HIGH_PERFORMANCE" },
  ],
  "/v2/templates": [
    {
      ...CONTAINER,
      id: "tpl1",
      name: "worker",
      mounts: {},
      serverless: true,
      public: false,
      category: "NVIDIA",
      startSsh: false,
      startJupyter: false,
      allowedCudaVersions: ["12.8"],
    },
    {
      ...CONTAINER,
      id: "tpl2",
      name: "pod",
      registry: "reg1",
      mounts: { persistent: { size: 20, path: "/workspace" } },
      serverless: false,
      public: true,
      category: "AMD",
      startSsh: true,
      startJupyter: true,
      allowedCudaVersions: [],
    },
  ],
};

const WRAPPERS: Readonly<Record<string, string>> = {
  "/v2/account/ssh-keys": "keys",
  "/v2/registries": "registries",
  "/v2/registries/delegations": "delegations",
  "/v2/network-volumes": "networkVolumes",
  "/v2/templates": "templates",
  "/v2/serverless": "endpoints",
};

export class OldService implements AsyncDisposable {
  readonly #server: Server;
  /** Paths that answer 429 once. */
  readonly busy = new Set<string>();
  /** Each request, as `<path> <status>`. */
  readonly requests: string[] = [];

  readonly #lists: Readonly<Record<string, readonly unknown[]>>;

  private constructor(lists: Readonly<Record<string, readonly unknown[]>>) {
    this.#lists = lists;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(endpoints: readonly object[], lists: typeof OLD_ACCOUNT = {}): Promise<OldService> {
    const service = new OldService({ ...OLD_ACCOUNT, "/v2/serverless": endpoints, ...lists });
    await once(service.#server.listen(0, "127.0.0.1"), "listening");
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    const { status, body } = this.#answerTo(request, path, await text(request));
    this.requests.push(`${path} ${status}`);
    response.writeHead(status, { "Content-Type": "application/json", "Retry-After": "1" });
    response.end(JSON.stringify(body));
  }

  #answerTo({ headers }: IncomingMessage, path: string, sent: string): { status: number; body: object } {
    if (headers.authorization !== `Bearer ${OLD_KEY}`) return { status: 401, body: {} };
    if (this.busy.delete(path)) return { status: 429, body: {} };
    const endpoints = [{ id: "ep0", modelReferences: ["acme/model"], compliance: ["HIPAA"] }];
    const secrets = [
      { name: "hf", description: "model downloads" },
      { name: "unset", description: null },
    ];
    if (path === "/graphql") {
      return {
        status: 200,
        body: { data: { myself: sent.includes("secrets") ? { secrets } : { endpoints } } },
      };
    }
    const name = WRAPPERS[path];
    return name ? { status: 200, body: { [name]: this.#lists[path] } } : { status: 404, body: {} };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
