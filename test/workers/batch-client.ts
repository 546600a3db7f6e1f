/** The batch API of one endpoint, as a client of the documentation calls it. */
import type { BatchSummary } from "../../src/contract/batch.ts";
import { ScriptedAgent } from "./agent-client.ts";
import type { EdgeClient } from "./edge-client.ts";
import { passTime } from "./object.ts";

export type Row = { id: string; status: string; output?: unknown; error?: string };
export type RequestPage = { requests: Row[]; total: number; hasMore: boolean };

export class BatchClient {
  readonly endpointId: string;

  readonly #api: EdgeClient;

  private constructor(api: EdgeClient, endpointId: string) {
    this.#api = api;
    this.endpointId = endpointId;
  }

  static async onFreshEndpoint(api: EdgeClient, settings?: string): Promise<BatchClient> {
    return new BatchClient(api, await api.createEndpoint(settings));
  }

  call(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    passTime(200); // a hundred calls in a moment would meet the rate limit
    return this.#api.call(method, `/v2/${this.endpointId}/${path}`, body, headers);
  }

  async create(requests: unknown): Promise<string> {
    const { status, body } = await this.call("POST", "batch", requests);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return String(body["id"]);
  }

  /** A batch whose jobs wait. */
  async start(requests: unknown): Promise<string> {
    const id = await this.create(requests);
    await this.post(`${id}/finalize`);
    return id;
  }

  async post(path: string, body?: unknown): Promise<BatchSummary> {
    const reply = await this.call("POST", `batch/${path}`, body);
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
    return reply.body as unknown as BatchSummary;
  }

  async look(id: string): Promise<BatchSummary> {
    return (await this.call("GET", `batch/${id}`)).body as unknown as BatchSummary;
  }

  /** What a batch says, in one line: status, total, in progress, completed, failed. */
  async summaryOf(id: string): Promise<string> {
    const batch = await this.look(id);
    const { status, requestTotal, requestInProgress, requestCompleted, requestFailed } = batch;
    return [status, requestTotal, requestInProgress, requestCompleted, requestFailed].join(" ");
  }

  async requests(id: string, query = ""): Promise<RequestPage> {
    return (await this.call("GET", `batch/${id}/requests${query}`)).body as unknown as RequestPage;
  }

  async status(jobId: string): Promise<unknown> {
    return (await this.call("GET", `status/${jobId}`)).body["status"];
  }
}

/** An endpoint with a ready worker that holds nothing. */
export async function warmBatchClient(api: EdgeClient) {
  const client = await BatchClient.onFreshEndpoint(api, "idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  await client.call("POST", "run", { input: "first" });
  const workerId = await agent.bringUpWorker(client.endpointId);
  await agent.complete(client.endpointId, await agent.take(client.endpointId, workerId), 0);
  const take = async (count: number) =>
    (await agent.exchange(client.endpointId, { slots: [{ workerId, free: count }] })).jobs;
  return { client, agent, workerId, endpointId: client.endpointId, take };
}

export function inputs(count: number): { input: number }[] {
  return Array.from({ length: count }, (_, index) => ({ input: index }));
}
