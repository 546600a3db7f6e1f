/** An endpoint that is changed while it works, and what its workers look like meanwhile. */
import { managementApi, type ManagementApi } from "../../standalone/management-api.ts";
import type { RolloutBody } from "../../src/contract/job.ts";
import { createEndpoint } from "./management-client.ts";
import { QueueClient } from "./queue-client.ts";
import { until } from "./until.ts";

/** Long for a computer, and short beside what a release takes. */

type Target = { readonly baseUrl: string; readonly apiKey: string };
export type Command = { readonly imageName: string; readonly dockerArgs: string };

/** The workers at a moment; those that are stopping do not count. */
export type Sample = {
  readonly version: number;
  readonly all: number;
  /** With those that are stopping, which have their GPUs still. */
  readonly present: number;
  readonly ready: number;
  readonly current: number;
  readonly release: RolloutBody | null;
};

export class RolloutEndpoint implements AsyncDisposable {
  readonly endpointId: string;
  readonly samples: Sample[] = [];
  readonly #api: ManagementApi;
  readonly #queue: QueueClient;
  readonly #templateId: string;

  private constructor(target: Target, endpointId: string, templateId: string) {
    this.endpointId = endpointId;
    this.#templateId = templateId;
    this.#api = managementApi(target.baseUrl, target.apiKey);
    this.#queue = new QueueClient({ ...target, endpointId });
  }

  /** Creates an endpoint that always has so many workers, and waits until they are ready. */
  static async open(
    target: Target,
    { workers, ...template }: Command & { workers: number; env: Readonly<Record<string, string>> },
  ): Promise<RolloutEndpoint> {
    const name = `rolling-${crypto.randomUUID()}`;
    const settings = { name, ...template, workersMin: workers, workersMax: workers };
    const endpointId = await createEndpoint(target, settings);
    const api = managementApi(target.baseUrl, target.apiKey);
    const { myself } = await api.query<{ myself: { endpoint: { templateId: string } } }>(
      `{ myself { endpoint(id: "${endpointId}") { templateId } } }`,
    );
    const endpoint = new RolloutEndpoint(target, endpointId, myself.endpoint.templateId);
    await endpoint.until(({ ready }) => ready === workers);
    return endpoint;
  }

  /** Changes the template, and so begins a release. */
  async change(fields: object): Promise<void> {
    await this.#api.query("mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }", {
      input: { id: this.#templateId, ...fields },
    });
  }

  /** Lets all workers go, so that others have their GPUs. */
  async close(): Promise<void> {
    const input = { id: this.endpointId, workersMin: 0, workersMax: 0 };
    await this.#api.query("mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }", {
      input,
    });
    await this.until(({ present }) => present === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Looks at the workers again and again until they are as wanted; resolves with the last look. */
  async until(isThere: (sample: Sample) => boolean): Promise<Sample> {
    const look = async () => {
      const sample = await this.#look();
      this.samples.push(sample);
      if (!isThere(sample)) throw new Error(JSON.stringify(sample));
      return sample;
    };
    return until(look, "workers as wanted", 240_000);
  }

  /** Resolves when all workers run the given version and are ready, and no older worker is left. */
  async untilReplaced(workers: number, version: number): Promise<void> {
    await this.until(
      (sample) => sample.version === version && sample.ready === workers && sample.current === sample.all,
    );
  }

  async #look(): Promise<Sample> {
    type Pod = { desiredStatus: string; version: number };
    const document = `{ myself { endpoint(id: "${this.endpointId}") { version pods { desiredStatus version } } } }`;
    const [{ myself }, { release }] = await Promise.all([
      this.#api.query<{ myself: { endpoint: { version: number; pods: Pod[] } } }>(document),
      this.#queue.health(),
    ]);
    const { version, pods } = myself.endpoint;
    const there = pods.filter(({ desiredStatus }) => desiredStatus !== "EXITED");
    return {
      version,
      all: there.length,
      present: pods.length,
      ready: there.filter(({ desiredStatus }) => desiredStatus === "RUNNING").length,
      current: there.filter((pod) => pod.version === version).length,
      release,
    };
  }
}
