/** A client of the queue API that keeps trying while the edge is down, as a patient user would. */
import type { HealthBody, JobView } from "../../src/contract/job.ts";
import type { WebhookLogBody } from "../../src/contract/webhook.ts";
import { until } from "./until.ts";

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };

/** A worker in a container may start slowly on a busy machine. */
const PATIENCE_MS = 240_000;

export class QueueClient {
  readonly #address: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey, endpointId }: Target) {
    this.#address = `${baseUrl}/v2/${endpointId}`;
    this.#apiKey = apiKey;
  }

  /** Submits one job. It is not repeated when the answer is lost: who got an id was accepted. */
  async run(input: unknown, options: { readonly webhook?: string } = {}): Promise<JobView> {
    return (await this.#once("POST", "/run", { input, ...options })) as JobView;
  }

  async webhookLog(jobId: string): Promise<WebhookLogBody> {
    return (await this.#untilReached("GET", `/webhooks/${jobId}`)) as WebhookLogBody;
  }

  async runsync(input: unknown): Promise<JobView> {
    return (await this.#once("POST", "/runsync", { input })) as JobView;
  }

  async status(jobId: string): Promise<JobView> {
    return (await this.#untilReached("GET", `/status/${jobId}`)) as JobView;
  }

  /** What happened to a job. */
  async timeline(jobId: string): Promise<unknown> {
    const reply = (await this.#untilReached("GET", `/status/${jobId}?timeline=1`)) as { timeline: unknown };
    return reply.timeline;
  }

  async stream(jobId: string): Promise<unknown> {
    return this.#once("GET", `/stream/${jobId}`);
  }

  async cancel(jobId: string): Promise<JobView> {
    return (await this.#once("POST", `/cancel/${jobId}`)) as JobView;
  }

  async health(): Promise<HealthBody> {
    return (await this.#untilReached("GET", "/health")) as HealthBody;
  }

  /** The job once it has ended. */
  async result(jobId: string): Promise<JobView> {
    for (;;) {
      const reply = (await this.#untilReached("GET", `/status/${jobId}?wait=30000`)) as JobView;
      if (reply.status !== "IN_QUEUE" && reply.status !== "IN_PROGRESS") return reply;
    }
  }

  async untilRunning(jobId: string): Promise<void> {
    const look = async () => (await this.status(jobId)).status !== "IN_QUEUE";
    await until(look, `the start of the job ${jobId}`, PATIENCE_MS);
  }

  /** Waits until at least so many jobs have completed since the endpoint exists. */
  async untilCompleted(count: number): Promise<void> {
    const look = async () => (await this.health()).jobs.completed >= count;
    await until(look, `${count} completed jobs`, PATIENCE_MS);
  }

  async #untilReached(method: string, path: string): Promise<unknown> {
    return until(() => this.#once(method, path), `an answer to ${method} ${path}`, PATIENCE_MS);
  }

  async #once(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#address + path, {
      method,
      headers: { Authorization: `Bearer ${this.#apiKey}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status !== 200)
      throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }
}
