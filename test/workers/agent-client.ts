/**
 * A scripted agent: joins as a host and speaks src/contract/agent/agent.ts over the real HTTP API. It keeps the
 * rules of the exchange: it lists what it holds and which turns are open, unless a test says otherwise.
 */
import { exports } from "cloudflare:workers";
import {
  exchangeReplySchema,
  joinReplySchema,
  syncReplySchema,
  type DispatchedJob,
  type ExchangeReply,
  type ExchangeRequest,
  type LeaseRenewal,
  type SyncReply,
  type SyncRequest,
} from "../../src/contract/agent/agent.ts";
import { logReplySchema, type LogReply, type LogRequest } from "../../src/contract/agent/log.ts";
import { GPU_TIER_NAMES } from "../../src/catalog/gpu-cards.ts";
import type { EdgeClient } from "./edge-client.ts";
import { notYet, until } from "./support/until.ts";

export const INVENTORY = {
  gpus: GPU_TIER_NAMES.flatMap((tier) => [tier, tier]).map((tier, index) => ({
    index,
    name: `Simulated ${tier}`,
    tier,
    memoryMb: 1,
    isSimulated: true,
  })),
  cpuCount: 2,
  memoryMb: 1_000,
  diskFreeMb: 500_000,
  runtime: "process" as const,
};

export class ScriptedAgent {
  readonly hostId: string;
  readonly #token: string;
  readonly #session = crypto.randomUUID();
  readonly #held = new Map<string, LeaseRenewal>();
  readonly #openTurns = new Set<number>();
  #turn = 0;

  private constructor(hostId: string, token: string) {
    this.hostId = hostId;
    this.#token = token;
  }

  static async join({ graphql }: Pick<EdgeClient, "graphql">, name = "host"): Promise<ScriptedAgent> {
    const data = await graphql<{ joinTokenCreate: { token: string } }>(
      `mutation { joinTokenCreate(input: { name: "${name}" }) { token } }`,
    );
    const response = await exports.default.fetch("http://edge/agent/v1/join", {
      method: "POST",
      body: JSON.stringify({
        joinToken: data.joinTokenCreate.token,
        name,
        agentVersion: "test",
        inventory: INVENTORY,
      }),
    });
    const { hostId, hostToken } = joinReplySchema.parse(await response.json());
    return new ScriptedAgent(hostId, hostToken);
  }

  get token(): string {
    return this.#token;
  }

  async sync(request: Partial<SyncRequest> = {}): Promise<SyncReply> {
    const body = {
      agentVersion: "test",
      inventory: INVENTORY,
      workers: [],
      appliedRevision: 0,
      holdMs: 0,
      ...request,
    };
    return syncReplySchema.parse(await this.#post("/agent/v1/sync", body));
  }

  /** Opens a presence; the test beats, or not. */
  async openPresence(id: string): Promise<WebSocket> {
    const response = await exports.default.fetch(`http://edge/agent/v1/presence?id=${id}`, {
      headers: { Authorization: `Bearer ${this.#token}`, Upgrade: "websocket" },
    });
    const { webSocket } = response;
    if (!webSocket) throw new Error(`No presence: ${await response.text()}`);
    webSocket.accept();
    return webSocket;
  }

  /** Opens the link to a load-balanced endpoint. */
  async openLink(id: string, of: "endpoints" | "pods" = "endpoints"): Promise<WebSocket> {
    return await this.#openLink(`${of}/${id}/link`);
  }

  /** The link of the host itself, over which tunnels come. */
  async openHostLink(): Promise<WebSocket> {
    return await this.#openLink("host/link");
  }

  async #openLink(path: string): Promise<WebSocket> {
    const response = await exports.default.fetch(`http://edge/agent/v1/${path}`, {
      headers: { Authorization: `Bearer ${this.#token}`, Upgrade: "websocket" },
    });
    const { webSocket } = response;
    if (!webSocket) throw new Error(`No link: ${response.status} ${await response.text()}`);
    webSocket.accept();
    return webSocket;
  }

  /** Says that a worker of the endpoint is ready, as soon as the fleet has assigned one; returns its id. */
  async bringUpWorker(endpointId: string): Promise<string> {
    const [workerId = ""] = await this.bringUpWorkers(endpointId, 1);
    return workerId;
  }

  /** The same for so many workers. */
  async bringUpWorkers(endpointId: string, count: number): Promise<string[]> {
    let appliedRevision = 0;
    const look = async () => {
      const reply = await this.sync({ appliedRevision, holdMs: appliedRevision === 0 ? 0 : 5_000 });
      appliedRevision = reply.revision;
      const assigned = reply.assignments.filter((assignment) => assignment.endpointId === endpointId);
      return assigned.length >= count ? assigned.slice(0, count) : notYet(reply.assignments);
    };
    const assigned = await until(look, `the host shall have ${count} workers of the endpoint`);
    const workers = assigned.map(({ workerId, revision }) => {
      return { workerId, endpointId, revision, state: "ready" as const };
    });
    await this.sync({ appliedRevision, workers });
    return workers.map(({ workerId }) => workerId);
  }

  async exchange(endpointId: string, request: Partial<ExchangeRequest> = {}): Promise<ExchangeReply> {
    this.#turn += 1;
    const turn = this.#turn;
    for (const { jobId } of request.reports ?? []) this.#held.delete(jobId);
    const body: ExchangeRequest = {
      session: this.#session,
      turn,
      openTurns: [...this.#openTurns],
      held: [...this.#held.values()],
      reports: [],
      chunks: [],
      slots: [],
      holdMs: 0,
      ...request,
    };
    this.#openTurns.add(turn);
    const reply = await this.#post(`/agent/v1/endpoints/${endpointId}/exchange`, body);
    this.#openTurns.delete(turn);
    const parsed = exchangeReplySchema.parse(reply);
    for (const { id, attempt, workerId } of parsed.jobs) this.#held.set(id, { jobId: id, attempt, workerId });
    for (const { jobId, attempt } of parsed.stops) {
      if (this.#held.get(jobId)?.attempt === attempt) this.#held.delete(jobId);
    }
    return parsed;
  }

  /** Takes one job for a worker, waiting for it when there is none yet. */
  async take(endpointId: string, workerId: string, holdMs = 10_000): Promise<DispatchedJob> {
    const { jobs } = await this.exchange(endpointId, { slots: [{ workerId, free: 1 }], holdMs });
    const [job] = jobs;
    if (!job) throw new Error("The edge had no job.");
    return job;
  }

  async report(
    endpointId: string,
    report: ExchangeRequest["reports"][number],
  ): Promise<"accepted" | "refused"> {
    const { acks } = await this.exchange(endpointId, { reports: [report] });
    return acks[0]?.outcome ?? "refused";
  }

  async complete(endpointId: string, job: DispatchedJob, output: unknown): Promise<"accepted" | "refused"> {
    return this.report(endpointId, {
      kind: "completed",
      jobId: job.id,
      attempt: job.attempt,
      workerId: job.workerId,
      output: output as never,
    });
  }

  /** Sends chunks of a job, the first of which has the number `from`; returns the number acknowledged. */
  async stream(
    endpointId: string,
    job: DispatchedJob,
    from: number,
    outputs: ExchangeRequest["chunks"][number]["outputs"],
    request: Partial<ExchangeRequest> = {},
  ): Promise<number | undefined> {
    const { id: jobId, attempt, workerId } = job;
    const chunks = [{ jobId, attempt, workerId, from, outputs }];
    const { chunkAcks } = await this.exchange(endpointId, { ...request, chunks });
    return chunkAcks?.[0]?.received;
  }

  /** Brings a result to the edge by itself. */
  async upload(
    endpointId: string,
    { id, attempt }: Pick<DispatchedJob, "id" | "attempt">,
    result: BodyInit,
  ): Promise<{ readonly status: number; readonly reply: unknown }> {
    const response = await exports.default.fetch(
      `http://edge/agent/v1/endpoints/${endpointId}/results/${id}/${attempt}`,
      { method: "PUT", headers: { Authorization: `Bearer ${this.#token}` }, body: result },
    );
    return { status: response.status, reply: await response.json() };
  }

  /** Sends lines of workers' logs, as an agent does whose clock goes so much ahead. */
  async sendLogs(workers: LogRequest["workers"], { isLive = false, aheadMs = 0 } = {}): Promise<LogReply> {
    const text = JSON.stringify({ now: Date.now() + aheadMs, isLive, workers } satisfies LogRequest);
    const zipped = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
    const response = await this.postLogs(await new Response(zipped).arrayBuffer());
    if (response.status !== 200) throw new Error(`logs answered ${response.status}`);
    return logReplySchema.parse(await response.json());
  }

  async postLogs(body: BodyInit): Promise<Response> {
    return await exports.default.fetch("http://edge/agent/v1/logs", {
      method: "POST",
      headers: { Authorization: `Bearer ${this.#token}` },
      body,
    });
  }

  /** Asks for bytes with the token of this host. */
  async download(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await exports.default.fetch(`http://edge${path}`, {
      headers: { Authorization: `Bearer ${this.#token}`, ...headers },
    });
  }

  #post(path: string, body: unknown): Promise<unknown> {
    return this.ask("POST", path, body);
  }

  /** Calls the agent API with the token of this host. */
  async ask(method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> {
    const response = await exports.default.fetch(`http://edge${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const reply = await response.json();
    if (response.status !== 200)
      throw new Error(`${path} answered ${response.status}: ${JSON.stringify(reply)}`);
    return reply;
  }
}
