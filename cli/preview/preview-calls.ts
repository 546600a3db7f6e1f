/** Calls of the local server, answered by the endpoints that a preview has deployed to its edge. */
import { WAIT_DEFAULT_MS } from "../../src/contract/limits.ts";
import { forwardedHeaders, responseHeaders } from "../calls/forwarded-headers.ts";
import { answerWith, endLine, JobCalls, type JobView } from "../calls/job-calls.ts";
import type { JobJson } from "../server/requests/served-app.ts";
import type { CallLine, EndpointCalls, QueueCall, ServedEndpoint } from "../server/requests/served-app.ts";
import type { Service } from "../service/service.ts";

/** A job that was only submitted is followed for its line in the log. */
const WATCH_MS = 60 * 60_000;
const NO_JOB: JobJson = { input: undefined, options: "{}" };

export class PreviewCalls implements EndpointCalls {
  readonly #service: Service;
  /** By endpoint name. */
  readonly #ids: ReadonlyMap<string, string>;
  readonly #jobs: JobCalls;
  /** Of the whole command. */
  readonly #signal: AbortSignal;

  constructor(service: Service, ids: ReadonlyMap<string, string>, signal: AbortSignal) {
    this.#service = service;
    this.#ids = ids;
    this.#signal = signal;
    this.#jobs = new JobCalls(service, (_, workerId, line) => line.running({ id: workerId }));
  }

  async queue({ name }: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response> {
    const id = this.#idOf(name);
    const { operation, job = NO_JOB } = call;
    if (operation !== "run" && operation !== "runsync") {
      const startedAt = performance.now();
      const response = await this.#jobs.forward(id, call);
      line.done({ ranMs: performance.now() - startedAt });
      return response;
    }
    const submitted = await this.#jobs.submit(id, operation, job, call, line);
    if ("errorResponse" in submitted) {
      const { errorResponse } = submitted;
      line.fail(`HTTP ${errorResponse.status}: ${(await errorResponse.clone().text()).slice(0, 500)}`);
      return errorResponse;
    }
    if (operation === "run") {
      void this.#watch(id, submitted.job, line);
      return answerWith(submitted.job);
    }
    const followMs = Number(new URLSearchParams(call.search).get("wait")) || WAIT_DEFAULT_MS;
    const ended = await this.#jobs.follow(id, submitted.job, { line, signal: call.signal, followMs });
    endLine(line, ended);
    return answerWith(ended);
  }

  async route({ name }: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response> {
    return await this.#forward(`/lb/${this.#idOf(name)}${path}`, request, line);
  }

  async openai({ name }: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response> {
    return await this.#forward(`/v2/${this.#idOf(name)}${path}`, request, line);
  }

  #idOf(name: string): string {
    return this.#ids.get(name) ?? name;
  }

  async #watch(id: string, job: JobView, line: CallLine): Promise<void> {
    try {
      const order = { line, signal: this.#signal, followMs: WATCH_MS };
      endLine(line, await this.#jobs.follow(id, job, order));
    } catch (error) {
      if (!this.#signal.aborted) line.fail(error instanceof Error ? error.message : String(error));
    }
  }

  async #forward(path: string, request: Request, line: CallLine): Promise<Response> {
    const headers = new Headers(forwardedHeaders(request));
    headers.set("accept-encoding", "identity");
    const body = Buffer.from(await request.arrayBuffer());
    const startedAt = performance.now();
    const response = await this.#service.request(`${path}${new URL(request.url).search}`, {
      method: request.method,
      headers,
      ...(body.length > 0 && { body }),
      redirect: "manual",
      signal: request.signal,
    });
    if (response.ok) line.done({ ranMs: performance.now() - startedAt });
    else line.fail(`answered with HTTP ${response.status}`);
    const { status, statusText } = response;
    return new Response(response.body, { status, statusText, headers: responseHeaders(response) });
  }
}
