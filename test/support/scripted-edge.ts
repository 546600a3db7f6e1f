/**
 * An edge for tests of the agent: a real HTTP server that speaks the agent contract. It has a queue, leases and
 * long polls like the real one, and records every breach of the contract by the agent in `violations`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { type WebSocket, WebSocketServer } from "ws";
import {
  type Assignment,
  type DispatchedJob,
  type ExchangeReply,
  type ExchangeRequest,
  exchangeRequestSchema,
  joinRequestSchema,
  PRESENCE_BEAT,
  type SyncRequest,
  type UploadReply,
  syncRequestSchema,
  type WorkerReport,
} from "../../src/contract/agent/agent.ts";
import {
  type LogLine,
  type LogRequest,
  logRequestSchema,
  type LogSource,
} from "../../src/contract/agent/log.ts";

import { ARTIFACT_PATH, ScriptedArtifacts } from "./scripted-artifacts.ts";
import { HOST_LINK_PATH, LINK_PATH, ScriptedLink } from "./scripted-link.ts";

export const JOIN_TOKEN = "join-token";
export const HOST_TOKEN = "host-token";

type OfferedJob = { readonly endpointId: string; readonly job: Omit<DispatchedJob, "workerId"> };
type Lease = {
  readonly endpointId: string;
  readonly job: DispatchedJob;
  readonly turn: number;
  isListed: boolean;
};
type Hold = { readonly request: ExchangeRequest; readonly answer: (reply: ExchangeReply) => void };

const NOTHING: ExchangeReply = { acks: [], jobs: [], stops: [] };

type UploadedResult = { readonly jobId: string; readonly attempt: number; readonly result: string };

type SubmittedJob = {
  readonly id: string;
  readonly attempt?: number;
  readonly input: DispatchedJob["input"];
  readonly executionTimeoutMs?: number;
};

/** How an edge deviates from a healthy one; a test changes it at any time. */
type EdgeBehaviour = {
  /** The answer to a report. */
  outcomeOf: (report: ExchangeRequest["reports"][number]) => "accepted" | "refused";
  /** The answer to an upload; a number is a status. */
  answerUpload: (upload: UploadedResult) => UploadReply | number;
  /** False for an edge that is older than presences. */
  supportsPresence: boolean;
  /** False for an edge that is older than streams. */
  supportsStreams: boolean;
  /** How many replies to chunks get lost: the edge has the chunks, and the agent does not know. */
  lostChunkReplies: number;
  /** Answers every call with this status instead. */
  errorStatus: number | null;
  /** Answers long polls at once. */
  answersAtOnce: boolean;
  /** Jobs that the edge dispatches beyond the free slots. */
  extraSlots: number;
};

export class ScriptedEdge {
  readonly behaviour: EdgeBehaviour = {
    outcomeOf: () => "accepted",
    answerUpload: ({ result }) => ({
      outcome: "accepted",
      upload: { sizeBytes: Buffer.byteLength(result) },
    }),
    supportsPresence: true,
    supportsStreams: true,
    lostChunkReplies: 0,
    errorStatus: null,
    answersAtOnce: false,
    extraSlots: 0,
  };
  readonly syncs: SyncRequest[] = [];
  readonly exchanges: { readonly endpointId: string; readonly request: ExchangeRequest }[] = [];
  /** Breaches of the contract; a test ends with none. */
  readonly violations: string[] = [];
  /** Uploaded results, in the order of their arrival. */
  readonly uploads: UploadedResult[] = [];
  /** Open presences by name. */
  readonly presences = new Map<string, WebSocket>();
  /** The link of the one load-balanced endpoint that a test has workers of. */
  readonly link = new ScriptedLink();
  /** The link of the host, for tunnels. */
  readonly hostLink = new ScriptedLink();
  /** Files of apps, with failures of their transfer. */
  readonly artifacts = new ScriptedArtifacts(() => this.#changed());
  readonly #presenceServer = new WebSocketServer({ noServer: true });
  readonly logRequests: LogRequest[] = [];
  follow = 0;
  /** Pods whose volumes stay; undefined for an edge that is older than pods. */
  podVolumes: readonly string[] | undefined;
  #logGate: Promise<void> | null = null;
  readonly #server: Server;
  #assignments: Assignment[] = [];
  #revision = 1;
  #syncHold: (() => void) | null = null;
  #queue: OfferedJob[] = [];
  #stops: { readonly endpointId: string; readonly stop: ExchangeReply["stops"][number] }[] = [];
  readonly #leases = new Map<string, Lease>();
  readonly #holds = new Map<string, Hold>();
  #session = "";
  readonly #reports: ExchangeRequest["reports"][number][] = [];
  readonly #chunks = new Map<string, ExchangeRequest["chunks"][number]["outputs"]>();
  readonly #watchers = new Set<() => void>();
  #reportGate: Promise<void> | null = null;
  #uploadGate: Promise<void> | null = null;
  #isOffline = false;
  joins = 0;
  /** Calls that came while the edge was offline. */
  attempted = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("upgrade", (request, socket, head) => {
      if (this.#isOffline) return void socket.destroy();
      if (request.url === HOST_LINK_PATH) return this.hostLink.accept(request, socket, head);
      if (LINK_PATH.test(request.url ?? "")) return this.link.accept(request, socket, head);
      if (!this.behaviour.supportsPresence) return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
      if (request.headers.authorization !== `Bearer ${HOST_TOKEN}`)
        this.violations.push("presence without token");
      const name = new URL(request.url ?? "/", "http://edge").searchParams.get("id") ?? "";
      this.#presenceServer.handleUpgrade(request, socket, head, (opened) => this.#greet(name, opened));
    });
    server.on("request", (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.violations.push(`${request.method} ${request.url}: ${String(error)}`);
        response.writeHead(500).end(String(error));
      });
    });
  }

  static async start(): Promise<ScriptedEdge> {
    const server = createServer();
    const edge = new ScriptedEdge(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return edge;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    for (const presence of this.presences.values()) presence.terminate();
    this.link.drop();
    this.hostLink.drop();
    await closed;
  }

  // What a test does

  /** The revision of the current assignments. */
  get revision(): number {
    return this.#revision;
  }

  assign(...assignments: Assignment[]): void {
    this.#assignments = assignments;
    this.#revision += 1;
    this.#syncHold?.();
  }

  /** Jobs that are submitted together are dispatched by the same exchange. */
  submit(endpointId: string, ...jobs: readonly SubmittedJob[]): void {
    for (const { id, input, attempt = 1, executionTimeoutMs = 60_000 } of jobs) {
      this.#queue.push({ endpointId, job: { id, attempt, input, executionTimeoutMs } });
    }
    for (const hold of this.#holds.values()) this.#answerHold(hold);
  }

  /** Tells the agent to stop the job. */
  stop(jobId: string, attempt = 1, reason: ExchangeReply["stops"][number]["reason"] = "cancelled"): void {
    const lease = this.#leases.get(`${jobId}/${attempt}`);
    if (!lease) throw new Error(`no lease of ${jobId}`);
    this.#leases.delete(`${jobId}/${attempt}`);
    this.#stops.push({ endpointId: lease.endpointId, stop: { jobId, attempt, reason } });
    const hold = this.#holds.get(lease.endpointId);
    if (hold) this.#answerHold(hold);
  }

  /** From here on replies to reports wait until the returned function is called. */
  gateReports(): () => void {
    const gate = Promise.withResolvers<void>();
    this.#reportGate = gate.promise;
    return () => {
      this.#reportGate = null;
      gate.resolve();
    };
  }

  /** From here on lines arrive, but their calls are answered only when the returned function is called. */
  gateLogs(): () => void {
    const gate = Promise.withResolvers<void>();
    this.#logGate = gate.promise;
    return () => {
      this.#logGate = null;
      gate.resolve();
    };
  }

  /** Lines that were sent to be stored or, with `isLive`, to be shown to followers. */
  logLines({ isLive = false, source }: { isLive?: boolean; source?: LogSource } = {}): LogLine[] {
    return this.logRequests
      .filter((request) => request.isLive === isLive)
      .flatMap(({ workers }) => workers.flatMap(({ lines }) => lines))
      .filter((line) => source === undefined || line.source === source);
  }

  /** Sets the number of the newest follower of the logs; 0 for none. */
  setFollow(follow: number): void {
    this.follow = follow;
    for (const hold of this.#holds.values()) hold.answer({ ...NOTHING, follow });
  }

  /** From here on uploads arrive, but are answered only when the returned function is called. */
  gateUploads(): () => void {
    const gate = Promise.withResolvers<void>();
    this.#uploadGate = gate.promise;
    return () => {
      this.#uploadGate = null;
      gate.resolve();
    };
  }

  goOffline(): void {
    this.#isOffline = true;
    this.#server.closeAllConnections();
    this.link.drop();
    this.hostLink.drop();
    for (const presence of this.presences.values()) presence.terminate();
  }

  goOnline(): void {
    this.#isOffline = false;
  }

  // What a test waits for

  async until<T>(find: () => T | undefined | false | null): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== false && found !== null) return found;
      await new Promise<void>((resolve) => {
        const resume = () => {
          this.#watchers.delete(resume);
          resolve();
        };
        this.#watchers.add(resume);
      });
    }
  }

  report(jobId: string, attempt = 1): Promise<ExchangeRequest["reports"][number]> {
    return this.until(() =>
      this.#reports.find((report) => report.jobId === jobId && report.attempt === attempt),
    );
  }

  /** The chunks of a stream that the edge has. */
  chunksOf(jobId: string, attempt = 1): ExchangeRequest["chunks"][number]["outputs"] {
    return this.#chunks.get(`${jobId}/${attempt}`) ?? [];
  }

  reportsOf(jobId: string): ExchangeRequest["reports"] {
    return this.#reports.filter((report) => report.jobId === jobId);
  }

  worker(workerId: string, state: WorkerReport["state"]): Promise<WorkerReport> {
    return this.until(() => this.#lastReportOf(workerId, state));
  }

  workerGone(workerId: string): Promise<true> {
    return this.until(
      () => this.syncs.at(-1)?.workers.every((worker) => worker.workerId !== workerId) || undefined,
    );
  }

  /** The agent listed the job as held. */
  held(jobId: string): Promise<ExchangeRequest> {
    return this.until(
      () =>
        this.exchanges.findLast(({ request }) => request.held.some((held) => held.jobId === jobId))?.request,
    );
  }

  /** An exchange is held that offers a slot of the worker. */
  offered(endpointId: string, workerId: string, free = 1): Promise<true> {
    return this.until(
      () =>
        this.#holds
          .get(endpointId)
          ?.request.slots.some((slot) => slot.workerId === workerId && slot.free === free) || undefined,
    );
  }

  #lastReportOf(workerId: string, state: WorkerReport["state"]): WorkerReport | undefined {
    const worker = this.syncs.at(-1)?.workers.find((report) => report.workerId === workerId);
    return worker?.state === state ? worker : undefined;
  }

  #changed(): void {
    for (const resume of [...this.#watchers]) resume();
  }

  // Serving

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isOffline) return this.#disconnect(request);
    // A health check of a worker whose server has not bound its port yet may reach this server.
    if (!request.url?.startsWith("/agent/v1/")) return void response.writeHead(404).end();
    if (request.url === "/agent/v1/logs") return this.#takeLogs(request, response);
    const sha256 = ARTIFACT_PATH.exec(request.url ?? "")?.[1];
    if (sha256 && request.headers.authorization === `Bearer ${HOST_TOKEN}`)
      return this.artifacts.serve(sha256, request, response);
    const received = await text(request);
    const body: unknown = JSON.parse(received);
    if (this.behaviour.errorStatus !== null)
      return void response.writeHead(this.behaviour.errorStatus).end("refused by the test");
    const path = new URL(request.url ?? "/", "http://edge").pathname;
    if (path === "/agent/v1/join") return this.#join(body, response);
    if (request.headers.authorization !== `Bearer ${HOST_TOKEN}`) return void response.writeHead(401).end();
    if (path === "/agent/v1/sync") return this.#sync(syncRequestSchema.parse(body), response);
    const upload = /\/results\/([^/]+)\/(\d+)$/.exec(path);
    if (upload) return this.#upload(upload[1] ?? "", Number(upload[2]), received, response);
    const endpointId = /^\/agent\/v1\/endpoints\/([^/]+)\/exchange$/.exec(path)?.[1];
    if (!endpointId) return void response.writeHead(404).end();
    return this.#exchange(endpointId, exchangeRequestSchema.parse(body), response);
  }

  async #takeLogs(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = logRequestSchema.parse(JSON.parse(await text(request.pipe(createGunzip()))));
    this.logRequests.push(received);
    this.#changed();
    if (this.#logGate) await this.#logGate;
    const endpointIds = received.isLive ? received.workers.map(({ endpointId }) => endpointId) : [];
    const follows = endpointIds.map((endpointId) => ({ endpointId, follow: this.follow }));
    if (!response.destroyed) reply(response, { follows });
  }

  async #upload(jobId: string, attempt: number, result: string, response: ServerResponse): Promise<void> {
    const upload = { jobId, attempt, result };
    this.uploads.push(upload);
    this.#changed();
    if (this.#uploadGate) await this.#uploadGate;
    const answer = this.behaviour.answerUpload(upload);
    if (typeof answer !== "number" && answer.outcome === "refused")
      this.#leases.delete(`${jobId}/${attempt}`);
    if (typeof answer === "number") return void response.writeHead(answer).end("refused by the test");
    reply(response, answer);
  }

  #greet(name: string, presence: WebSocket): void {
    this.presences.set(name, presence);
    presence.on("message", () => presence.send(PRESENCE_BEAT));
    presence.on("close", () => {
      this.presences.delete(name);
      this.#changed();
    });
    this.#changed();
  }

  #disconnect(request: IncomingMessage): void {
    this.attempted += 1;
    request.socket.destroy();
    this.#changed();
  }

  #join(body: unknown, response: ServerResponse): void {
    const { joinToken } = joinRequestSchema.parse(body);
    if (joinToken !== JOIN_TOKEN)
      return void response.writeHead(401).end(JSON.stringify({ error: "the message of the edge" }));
    this.joins += 1;
    reply(response, { hostId: "host-1", hostToken: HOST_TOKEN });
  }

  async #sync(request: SyncRequest, response: ServerResponse): Promise<void> {
    this.syncs.push(request);
    this.#changed();
    this.#syncHold?.();
    if (request.appliedRevision === this.#revision && !this.behaviour.answersAtOnce) {
      await this.#hold(request.holdMs, response, (release) => (this.#syncHold = release));
    }
    const { podVolumes } = this;
    reply(response, {
      revision: this.#revision,
      assignments: this.#assignments,
      ...(podVolumes && { podVolumes }),
    });
  }

  async #hold(holdMs: number, response: ServerResponse, keep: (release: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, holdMs);
      const release = () => {
        clearTimeout(timer);
        resolve();
      };
      response.once("close", release);
      keep(release);
    });
  }

  async #exchange(endpointId: string, request: ExchangeRequest, response: ServerResponse): Promise<void> {
    this.exchanges.push({ endpointId, request });
    this.#checkLeases(endpointId, request);
    const chunkAcks = request.chunks.map((chunks) => this.#takeChunks(chunks));
    this.#reports.push(...request.reports);
    this.#changed();
    if (chunkAcks.length > 0 && this.behaviour.lostChunkReplies > 0) {
      this.behaviour.lostChunkReplies -= 1;
      return void response.destroy();
    }
    if (request.reports.length > 0 && this.#reportGate) await this.#reportGate;
    if (response.destroyed) return;
    const acks = request.reports.map((report) => this.#acknowledge(report));
    if (request.holdMs > 0) this.#holds.get(endpointId)?.answer(NOTHING);
    const jobs = this.#claim(endpointId, request);
    const stops = this.#takeStops(endpointId);
    const follow = request.follow === this.follow ? {} : { follow: this.follow };
    const hasNews =
      acks.length + chunkAcks.length + jobs.length + stops.length > 0 || follow.follow !== undefined;
    if (request.holdMs === 0 || hasNews || this.behaviour.answersAtOnce) {
      return reply(response, {
        acks,
        jobs,
        stops,
        ...follow,
        ...(this.behaviour.supportsStreams && { chunkAcks }),
      });
    }
    reply(response, await this.#holdExchange(endpointId, request, response));
  }

  #holdExchange(
    endpointId: string,
    request: ExchangeRequest,
    response: ServerResponse,
  ): Promise<ExchangeReply> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => hold.answer(NOTHING), request.holdMs);
      const hold: Hold = {
        request,
        answer: (answer) => {
          clearTimeout(timer);
          if (this.#holds.get(endpointId) === hold) this.#holds.delete(endpointId);
          resolve(answer);
        },
      };
      this.#holds.set(endpointId, hold);
      response.once("close", () => hold.answer(NOTHING));
      this.#changed();
    });
  }

  #answerHold(hold: Hold): void {
    const [endpointId] = [...this.#holds].find(([, one]) => one === hold) ?? [];
    if (!endpointId) return;
    const answer = {
      acks: [],
      jobs: this.#claim(endpointId, hold.request),
      stops: this.#takeStops(endpointId),
    };
    if (answer.jobs.length > 0 || answer.stops.length > 0) hold.answer(answer);
  }

  #claim(endpointId: string, request: ExchangeRequest): DispatchedJob[] {
    const jobs: DispatchedJob[] = [];
    for (const { workerId, free } of request.slots) {
      for (let slot = 0; slot < free + this.behaviour.extraSlots; slot += 1) {
        const index = this.#queue.findIndex((queued) => queued.endpointId === endpointId);
        const [queued] = index < 0 ? [] : this.#queue.splice(index, 1);
        if (!queued) return jobs;
        const job = { ...queued.job, workerId };
        this.#leases.set(`${job.id}/${job.attempt}`, {
          endpointId,
          job,
          turn: request.turn,
          isListed: false,
        });
        jobs.push(job);
      }
    }
    return jobs;
  }

  #takeStops(endpointId: string): ExchangeReply["stops"] {
    const due = this.#stops.filter((entry) => entry.endpointId === endpointId);
    this.#stops = this.#stops.filter((entry) => entry.endpointId !== endpointId);
    return due.map((entry) => entry.stop);
  }

  #takeChunks({ jobId, attempt, from, outputs }: ExchangeRequest["chunks"][number]) {
    const key = `${jobId}/${attempt}`;
    const known = this.#chunks.get(key) ?? [];
    if (from > known.length + 1)
      this.violations.push(`chunks of ${key} jump from ${known.length} to ${from}`);
    if (this.#reports.some((report) => `${report.jobId}/${report.attempt}` === key))
      this.violations.push(`chunks of ${key} come after its report`);
    const fresh = outputs.slice(known.length + 1 - from);
    this.#chunks.set(key, [...known, ...fresh]);
    return { jobId, attempt, received: known.length + fresh.length };
  }

  #acknowledge(report: ExchangeRequest["reports"][number]): ExchangeReply["acks"][number] {
    const { jobId, attempt } = report;
    const hasUpload = this.uploads.some((one) => one.jobId === jobId && one.attempt === attempt);
    if ("upload" in report && report.upload && !hasUpload)
      this.violations.push(`the report of ${jobId} names a result that was not uploaded`);
    this.#leases.delete(`${jobId}/${attempt}`);
    return { jobId, attempt, outcome: this.behaviour.outcomeOf(report) };
  }

  /** A leased job is listed, or reported, or in a reply on its way; one that never was listed goes back. */
  #checkLeases(endpointId: string, request: ExchangeRequest): void {
    const isNewSession = this.#session !== request.session;
    this.#session = request.session;
    if (request.openTurns.includes(request.turn))
      this.violations.push(`turn ${request.turn} lists itself as open`);
    for (const [key, lease] of this.#leases) {
      if (lease.endpointId !== endpointId) continue;
      const isListed = [...request.held, ...request.reports].some(
        (one) => `${one.jobId}/${one.attempt}` === key,
      );
      if (isListed) lease.isListed = true;
      else if (isNewSession) this.#requeue(key, lease);
      else if (lease.turn < request.turn && !request.openTurns.includes(lease.turn)) {
        if (lease.isListed) this.violations.push(`turn ${request.turn} does not list ${key} any more`);
        else this.#requeue(key, lease);
      }
    }
  }

  #requeue(key: string, { endpointId, job }: Lease): void {
    this.#leases.delete(key);
    this.#queue.unshift({ endpointId, job: { ...job, attempt: job.attempt + 1 } });
  }
}

function reply(response: ServerResponse, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
