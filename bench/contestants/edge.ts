/** The edge that a contestant or a count runs on, and what is asked of it outside all measurements. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { managementApi, type ManagementApi } from "../../standalone/management-api.ts";
import { GPU_TIER_NAMES } from "../../src/catalog/gpu-cards.ts";
import { Launch } from "../../test/support/launch.ts";

/** One run of an edge. */
export type RunningEdge = {
  readonly apiKey: string;
  /** The runtime, and what started it. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
};

/** Starts an edge on a port, with its data in a directory; the same directory has the same data again. */
export type EdgeStart = (port: number, stateDirectory: string) => Promise<RunningEdge>;

export class Edge implements AsyncDisposable {
  readonly url: string;
  readonly stateDirectory: string;
  readonly #restart: () => Promise<RunningEdge>;
  #running: RunningEdge;

  private constructor(
    url: string,
    stateDirectory: string,
    restart: () => Promise<RunningEdge>,
    running: RunningEdge,
  ) {
    this.url = url;
    this.stateDirectory = stateDirectory;
    this.#restart = restart;
    this.#running = running;
  }

  static async start(how: EdgeStart = startAsUsersDo): Promise<Edge> {
    const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-bench-"));
    const port = await getPort({ host: "127.0.0.1" });
    const restart = () => how(port, stateDirectory);
    return new Edge(`http://127.0.0.1:${port}`, stateDirectory, restart, await restart());
  }

  get apiKey(): string {
    return this.#running.apiKey;
  }

  get pids(): readonly number[] {
    return this.#running.pids;
  }

  get management(): ManagementApi {
    return managementApi(this.url, this.apiKey);
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
  async whileStopped(work: () => void): Promise<void> {
    await this.#running.stop();
    work();
    this.#running = await this.#restart();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.stop();
    await rm(this.stateDirectory, { recursive: true, force: true });
  }
}

/** `npm start` without its agent and example. */
async function startAsUsersDo(port: number, stateDirectory: string): Promise<RunningEdge> {
  const launch = new Launch({ via: "script", port, stateDirectory, options: ["--no-agent"] });
  await launch.settled();
  const { edgePid, script } = launch.record;
  return {
    apiKey: readFileSync(join(stateDirectory, "api-key"), "utf8").trim(),
    pids: edgePid === null ? [script.pid] : [edgePid, script.pid],
    stop: () => launch.stop(),
  };
}

/** A start without an agent and example, whose runtime has V8's inspector on this port. */
export function withInspector(inspectorPort: number): EdgeStart {
  return async (port, stateDirectory) => {
    const options = ["--no-agent", "--no-example", "--inspect", String(inspectorPort)];
    const launch = new Launch({ via: "script", port, stateDirectory, options });
    await launch.settled();
    return {
      apiKey: readFileSync(join(stateDirectory, "api-key"), "utf8").trim(),
      pids: launch.record.edgePid === null ? [] : [launch.record.edgePid],
      stop: () => launch.stop(),
    };
  };
}

export type EndpointSettings = {
  readonly name: string;
  /** Workers that always run. */
  readonly workers: number;
  /** Command of the workers, for an agent that runs them as plain processes. */
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
};

/** Creates an endpoint with a fixed number of workers; returns its id. */
export async function createEndpoint(
  api: ManagementApi,
  { name, workers, command = "", env = {} }: EndpointSettings,
): Promise<string> {
  const template = {
    name,
    imageName: "edgerun/process",
    dockerArgs: command,
    containerDiskInGb: 5,
    volumeInGb: 0,
    env: Object.entries(env).map(([key, value]) => ({ key, value })),
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
