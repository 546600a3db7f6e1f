/** The agent's side of the worker protocol for one worker, played by a test: jobs in, everything the worker says out. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

const HOLD_MS = 20_000;
/** Longer than the SDK keeps an idle connection: posting on one that was just closed loses the result. */
const KEEP_ALIVE_MS = 60_000;
const KEY = "worker-key";
const WORKER_ID = "worker-1";

/** What a worker posts as the end of a job. */
export type JobResult = {
  readonly output?: unknown;
  readonly error?: unknown;
  readonly stopPod?: boolean;
};

/** A job handed to the worker, and what has been heard of it. */
export type ScriptedJob = {
  readonly id: string;
  readonly progress: unknown[];
  readonly chunks: unknown[];
  readonly taken: Promise<void>;
  /** The first progress has come, so the handler runs. The SDK ignores a stop that comes before that. */
  readonly underWay: Promise<void>;
  readonly result: Promise<JobResult>;
};

type OpenJob = ScriptedJob & {
  readonly wire: { readonly id: string; readonly input: unknown };
  readonly markTaken: () => void;
  readonly markUnderWay: () => void;
  readonly finish: (result: JobResult) => void;
};

type OpenTake = { readonly reply: ServerResponse; readonly count: number; readonly isBatch: boolean };

export class ScriptedAgent {
  readonly #server: Server;
  readonly #jobs = new Map<string, OpenJob>();
  #queue: OpenJob[] = [];
  #takes: OpenTake[] = [];
  #stopPolls: ServerResponse[] = [];
  #stops: string[] = [];
  /** Ids named by the pings so far; "" for a ping without a job. */
  readonly pings: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, reply) => void this.#answer(request, reply));
  }

  static async listen(): Promise<ScriptedAgent> {
    const server = createServer();
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    const agent = new ScriptedAgent(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    return agent;
  }

  /** The environment that tells a worker where its agent is. */
  workerEnv(): Record<string, string> {
    const { address, port } = this.#server.address() as AddressInfo;
    const base = `http://${address}:${port}`;
    return {
      RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/${WORKER_ID}?x=1`,
      RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/${WORKER_ID}/$ID?x=1`,
      RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/${WORKER_ID}/$ID?x=1`,
      RUNPOD_WEBHOOK_PING: `${base}/ping/${WORKER_ID}?x=1`,
      RUNPOD_PING_INTERVAL: "1000",
      RUNPOD_AI_API_KEY: KEY,
      RUNPOD_POD_ID: WORKER_ID,
      RUNPOD_ENDPOINT_ID: "endpoint-1",
      RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
      RUNPOD_SKIP_GPU_CHECK: "true",
    };
  }

  /** Queues a job for the worker. */
  submit(input: unknown): ScriptedJob {
    const id = `job-${this.#jobs.size + 1}`;
    const taken = Promise.withResolvers<void>();
    const underWay = Promise.withResolvers<void>();
    const result = Promise.withResolvers<JobResult>();
    const job: OpenJob = {
      id,
      progress: [],
      chunks: [],
      taken: taken.promise,
      underWay: underWay.promise,
      result: result.promise,
      wire: { id, input },
      markTaken: taken.resolve,
      markUnderWay: underWay.resolve,
      finish: result.resolve,
    };
    this.#jobs.set(id, job);
    this.#queue.push(job);
    this.#dispatch();
    return job;
  }

  /** Asks the worker to stop a job that it runs. */
  stop(jobId: string): void {
    this.#stops.push(jobId);
    this.#sendStops();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  // The worker's calls

  async #answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://agent");
    const [, route = "", , jobId = ""] = url.pathname.split("/");
    // The Python SDK's pings come from a process of their own, which may send no key.
    if (route !== "ping" && request.headers.authorization !== KEY) return end(reply, 401);
    switch (route) {
      case "job-take":
        return this.#holdTake({ reply, count: 1, isBatch: false });
      case "job-take-batch":
        return this.#holdTake({ reply, count: Number(url.searchParams.get("batch_size")), isBatch: true });
      case "job-stop":
        return this.#holdStopPoll(reply);
      case "ping":
        this.pings.push(url.searchParams.get("job_id") ?? "");
        return end(reply, 200);
      case "job-done":
        this.#hear(jobId, JSON.parse(await text(request)));
        return end(reply, 200);
      case "job-stream":
        this.#jobs.get(jobId)?.chunks.push(JSON.parse(await text(request)).output);
        return end(reply, 200);
      default:
        return end(reply, 404);
    }
  }

  #hear(jobId: string, body: JobResult & { status?: string }): void {
    const job = this.#jobs.get(jobId);
    if (body.status !== "IN_PROGRESS") return job?.finish(body);
    job?.progress.push(body.output);
    job?.markUnderWay();
  }

  #holdTake(take: OpenTake): void {
    this.#takes.push(take);
    this.#dropWhenOver(take.reply);
    this.#dispatch();
  }

  #holdStopPoll(reply: ServerResponse): void {
    this.#stopPolls.push(reply);
    this.#dropWhenOver(reply);
    this.#sendStops();
  }

  /** Ends a poll that waited long enough, and forgets one whose worker has gone. */
  #dropWhenOver(reply: ServerResponse): void {
    const timer = setTimeout(() => end(reply, 204), HOLD_MS);
    reply.on("close", () => {
      clearTimeout(timer);
      this.#takes = this.#takes.filter((take) => take.reply !== reply);
      this.#stopPolls = this.#stopPolls.filter((poll) => poll !== reply);
    });
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const take = this.#takes.shift();
      if (take === undefined) return;
      const jobs = this.#queue.splice(0, take.count);
      for (const job of jobs) job.markTaken();
      const wires = jobs.map((job) => job.wire);
      end(take.reply, 200, take.isBatch ? wires : wires[0]);
    }
  }

  #sendStops(): void {
    if (this.#stops.length === 0) return;
    const poll = this.#stopPolls.shift();
    if (poll === undefined) return;
    end(poll, 200, { jobsToStop: this.#stops });
    this.#stops = [];
  }
}

function end(reply: ServerResponse, status: number, body?: unknown): void {
  reply.writeHead(status, { "content-type": "application/json" });
  reply.end(body === undefined ? undefined : JSON.stringify(body));
}
