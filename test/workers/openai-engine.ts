/** An engine behind OpenAI's routes, played by a test, and clients of it that can hang up. */
import { exports } from "cloudflare:workers";
import type { DispatchedJob, ExchangeRequest } from "../../src/contract/agent/agent.ts";
import { ScriptedAgent } from "./agent-client.ts";
import type { EdgeClient } from "./edge-client.ts";
import { notYet, until } from "./support/until.ts";

export const CHAT = "/v1/chat/completions";
export const QUESTION = { model: "m", messages: [{ role: "user", content: "Hello" }] };

export class Engine {
  readonly endpointId: string;
  readonly agent: ScriptedAgent;
  readonly workerId: string;

  readonly #api: EdgeClient;

  private constructor(api: EdgeClient, endpointId: string, agent: ScriptedAgent, workerId: string) {
    this.#api = api;
    this.endpointId = endpointId;
    this.agent = agent;
    this.workerId = workerId;
  }

  /** An endpoint with one worker that is ready. */
  static async start(api: EdgeClient, settings?: string): Promise<Engine> {
    const endpointId = await api.createEndpoint(settings);
    const agent = await ScriptedAgent.join(api);
    const first = await api.call("POST", `/v2/${endpointId}/run`, { input: "brings up a worker" });
    const workerId = await agent.bringUpWorker(endpointId);
    await agent.complete(endpointId, await agent.take(endpointId, workerId), first.status);
    return new Engine(api, endpointId, agent, workerId);
  }

  get base(): string {
    return `/v2/${this.endpointId}`;
  }

  /** A request whose answer comes in one piece. */
  post(route: string, body: unknown, headers: Record<string, string> = {}) {
    return this.#api.call("POST", `${this.base}/openai${route}`, body, headers);
  }

  take(): Promise<DispatchedJob> {
    return this.agent.take(this.endpointId, this.workerId);
  }

  yields(job: DispatchedJob, from: number, ...outputs: ExchangeRequest["chunks"][number]["outputs"]) {
    return this.agent.stream(this.endpointId, job, from, outputs);
  }

  complete(job: DispatchedJob, output: unknown) {
    return this.agent.complete(this.endpointId, job, output);
  }

  /** Completes the job with a result that is too large for a report. */
  async upload(job: DispatchedJob, result: string): Promise<void> {
    await this.agent.upload(this.endpointId, job, result);
    const sizeBytes = new TextEncoder().encode(result).byteLength;
    const { id: jobId, attempt, workerId } = job;
    await this.agent.report(this.endpointId, {
      kind: "completed",
      jobId,
      attempt,
      workerId,
      upload: { sizeBytes },
    });
  }

  fail({ id: jobId, attempt, workerId }: DispatchedJob, error: string) {
    return this.agent.report(this.endpointId, { kind: "failed", jobId, attempt, workerId, error });
  }

  /** The worker dies; the job is queued again. */
  lose({ id: jobId, attempt, workerId }: DispatchedJob) {
    return this.agent.report(this.endpointId, { kind: "lost", jobId, attempt, workerId, reason: "exited." });
  }

  async statusOf(jobId: string): Promise<unknown> {
    return (await this.#api.call("GET", `${this.base}/status/${jobId}`)).body["status"];
  }

  /** Resolves once the job has the status. */
  async until(jobId: string, status: string): Promise<void> {
    const look = async () => {
      const seen = await this.statusOf(jobId);
      return seen === status || notYet(seen);
    };
    await until(look, `the job is ${status}`);
  }

  /** A client that can hang up, and that reads as it comes. */
  ask(body: unknown, route = CHAT): OpenaiClient {
    return new OpenaiClient(this.#api, `${this.base}/openai${route}`, body);
  }
}

export class OpenaiClient {
  readonly #controller = new AbortController();
  readonly response: Promise<Response>;
  readonly #decoder = new TextDecoder();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor({ key }: EdgeClient, path: string, body: unknown) {
    this.response = exports.default.fetch(`http://edge${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: this.#controller.signal,
    });
    this.response.catch(() => undefined); // it may have hung up
  }

  /** What comes next; undefined at the end. */
  async next(): Promise<string | undefined> {
    this.#reader ??= ((await this.response).body ?? new ReadableStream<Uint8Array>()).getReader();
    const { done, value } = await this.#reader.read();
    return done ? undefined : this.#decoder.decode(value, { stream: true });
  }

  /** All that is left. */
  async rest(): Promise<string> {
    let text = "";
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) text += piece;
    return text;
  }

  async disconnect(): Promise<void> {
    this.#controller.abort();
    await this.#reader?.cancel().catch(() => {});
  }
}
