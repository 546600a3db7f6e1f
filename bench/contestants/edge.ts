/** An edge as `npm start` starts it, without its agent and example. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { managementApi, type ManagementApi } from "../../scripts/start/management-api.ts";
import { GPU_TIER_NAMES } from "../../src/contract/gpu-tiers.ts";
import { Launch } from "../../test/support/edgerun.ts";

export class Edge implements AsyncDisposable {
  readonly url: string;
  readonly stateDirectory: string;
  readonly #port: number;
  #launch: Launch;

  private constructor(port: number, stateDirectory: string, launch: Launch) {
    this.url = `http://127.0.0.1:${port}`;
    this.stateDirectory = stateDirectory;
    this.#port = port;
    this.#launch = launch;
  }

  static async start(): Promise<Edge> {
    const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-bench-"));
    const port = await getPort({ host: "127.0.0.1" });
    return new Edge(port, stateDirectory, await launch(port, stateDirectory));
  }

  get apiKey(): string {
    return readFileSync(join(this.stateDirectory, "api-key"), "utf8").trim();
  }

  get management(): ManagementApi {
    return managementApi(this.url, this.apiKey);
  }

  /** The runtime, and the script that started it. */
  get pids(): readonly number[] {
    const { edgePid, script } = this.#launch.record;
    return edgePid === null ? [script.pid] : [edgePid, script.pid];
  }

  /** One call of the queue API, outside all measurements; throws when it is refused. */
  async call(endpointId: string, method: "GET" | "POST", path: string, body?: string): Promise<unknown> {
    const reply = await fetch(`${this.url}/v2/${endpointId}/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.apiKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Stops the edge, lets `work` have its files, and starts it again on the same port. */
  async whileStopped(work: () => Promise<void>): Promise<void> {
    await this.#launch.stop();
    await work();
    this.#launch = await launch(this.#port, this.stateDirectory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#launch.stop();
    await rm(this.stateDirectory, { recursive: true, force: true });
  }
}

async function launch(port: number, stateDirectory: string): Promise<Launch> {
  const started = new Launch({ via: "script", port, stateDirectory, options: ["--no-agent"] });
  await started.settled();
  return started;
}

export type EndpointSettings = {
  readonly name: string;
  /** Workers that always run. */
  readonly workers: number;
  /** Command of the workers, for an agent that runs them as plain processes. */
  readonly command?: string;
};

/** Creates an endpoint with a fixed number of workers; returns its id. */
export async function createEndpoint(
  api: ManagementApi,
  { name, workers, command = "" }: EndpointSettings,
): Promise<string> {
  const template = {
    name,
    imageName: "edgerun/process",
    dockerArgs: command,
    containerDiskInGb: 5,
    volumeInGb: 0,
    env: [],
    isServerless: true,
  };
  const { saveTemplate } = await api.query<{ saveTemplate: { id: string } }>(
    "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }",
    { input: template },
  );
  const endpoint = {
    name,
    templateId: saveTemplate.id,
    gpuIds: GPU_TIER_NAMES.join(","),
    workersMin: workers,
    workersMax: workers,
    idleTimeout: 60,
  };
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    { input: endpoint },
  );
  return saveEndpoint.id;
}
