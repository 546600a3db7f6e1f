/** The container's side of the worker protocol, call by call, for what no well-behaved worker does. */
import { connect, type Socket } from "node:net";
import { type AgentFixture, assignment } from "./agent-fixture.ts";

export class RawWorker {
  readonly #takeUrl: string;
  readonly #doneUrl: string;
  readonly #pingUrl: string;

  private constructor(host: AgentFixture, workerId: string) {
    this.#takeUrl = host.env(workerId, "RUNPOD_WEBHOOK_GET_JOB");
    this.#doneUrl = host.env(workerId, "RUNPOD_WEBHOOK_POST_OUTPUT");
    this.#pingUrl = host.env(workerId, "RUNPOD_WEBHOOK_PING");
  }

  /** Its process is there and does nothing; the test speaks for it. */
  static async start(host: AgentFixture, workerId = "worker-1"): Promise<RawWorker> {
    host.edge.assign(assignment({ workerId, env: { MOCK_NEVER_TAKE: "1" } }));
    await host.logged("worker_started");
    return new RawWorker(host, workerId);
  }

  get takeUrl(): URL {
    return new URL(this.#takeUrl);
  }

  take(query = "&job_in_progress=0", signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.#takeUrl}${query}`, signal ? { signal } : {});
  }

  /** Takes again whenever the agent has held the poll for long enough. */
  async takeUntilThere(ask = () => this.take()): Promise<unknown> {
    for (;;) {
      const reply = await ask();
      if (reply.status === 200) return reply.json();
    }
  }

  takeBatch(size: number, query = "&job_in_progress=0"): Promise<Response> {
    const url = this.#takeUrl.replace("/job-take/", "/job-take-batch/");
    return fetch(`${url}&batch_size=${size}${query}`);
  }

  /** A take whose reply nobody reads. */
  async takeAndNeverRead(): Promise<Socket> {
    const { hostname, port, pathname } = this.takeUrl;
    const socket = connect({ host: hostname, port: Number(port) });
    socket.pause();
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    socket.write(`GET ${pathname}?x=1&job_in_progress=0 HTTP/1.1\r\nHost: agent\r\n\r\n`);
    return socket;
  }

  pollStops(): Promise<Response> {
    return fetch(this.#takeUrl.replace("/job-take/", "/job-stop/"));
  }

  ping(query: string): Promise<Response> {
    return fetch(`${this.#pingUrl}${query}`);
  }

  async done(jobId: string, body: string): Promise<number> {
    const response = await fetch(`${this.#doneUrl.replace("$ID", jobId)}&isStream=false`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    });
    await response.text();
    return response.status;
  }
}
