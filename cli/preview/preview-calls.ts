/** Calls of the local server, answered by the endpoints that a preview has deployed to its edge. */
import { WAIT_DEFAULT_MS } from "../../src/contract/limits.ts";
import { forwardRequest, passedOn } from "../calls/forwarding.ts";
import { answerWith, endLine, endRejected, JobCalls } from "../calls/job-calls.ts";
import {
  type CallLine,
  type EndpointCalls,
  NO_JOB,
  type QueueCall,
  type ServedEndpoint,
} from "../server/requests/served-app.ts";
import type { Service } from "../service/service.ts";

export class PreviewCalls implements EndpointCalls {
  readonly #service: Service;
  /** By endpoint name. */
  readonly #ids: ReadonlyMap<string, string>;
  readonly #jobs: JobCalls;

  constructor(service: Service, ids: ReadonlyMap<string, string>, signal: AbortSignal) {
    this.#service = service;
    this.#ids = ids;
    const onWorker = (_: string, workerId: string, line: CallLine): void => line.running({ id: workerId });
    this.#jobs = new JobCalls({ service, signal, onWorker });
  }

  async queue({ name }: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response> {
    const id = this.#idOf(name);
    const { operation, job = NO_JOB, signal } = call;
    if (operation !== "run" && operation !== "runsync") return await this.#jobs.forward(id, call, line);
    const submitted = await this.#jobs.submit(id, job, call, line);
    if (submitted instanceof Response) {
      await endRejected(line, submitted);
      return submitted;
    }
    if (operation === "run") {
      void this.#jobs.watch(id, submitted, line);
      return answerWith(submitted);
    }
    const followMs = Number(new URLSearchParams(call.search).get("wait")) || WAIT_DEFAULT_MS;
    const ended = await this.#jobs.follow(id, submitted, { line, signal, followMs });
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

  async #forward(path: string, request: Request, line: CallLine): Promise<Response> {
    const startedAt = performance.now();
    const response = await forwardRequest(this.#service, path, request);
    if (response.ok) line.done({ ranMs: performance.now() - startedAt });
    else line.fail(`answered with HTTP ${response.status}`);
    return passedOn(response);
  }
}
