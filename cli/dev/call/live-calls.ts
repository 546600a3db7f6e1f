/** Runs calls of the local server on workers of live endpoints. */
import {
  type CallLine,
  CallFailure,
  type EndpointCalls,
  type QueueCall,
  type ServedEndpoint,
} from "../../server/requests/served-app.ts";
import type { Service } from "../../service/service.ts";
import type { LiveApp } from "../app/live-app.ts";
import type { LiveSession } from "../session/live-session.ts";
import { type CallContext, SentSources } from "./call-context.ts";
import { LiveJobs } from "./live-jobs.ts";
import { calledEndpoints, checkArguments, type LiveCall, requestJson, sourcesOf } from "./live-request.ts";
import { LiveOpenAi } from "./live-openai.ts";
import { LiveRoutes } from "./live-routes.ts";
import { WorkerLines } from "../../calls/worker-lines.ts";

export type LiveCallsSettings = {
  readonly service: Service;
  readonly app: LiveApp;
  readonly session: LiveSession;
  readonly signal: AbortSignal;
};

export class LiveCalls implements EndpointCalls {
  readonly #app: LiveApp;
  readonly #session: LiveSession;
  readonly #jobs: LiveJobs;
  readonly #routes: LiveRoutes;
  readonly #openai: LiveOpenAi;

  constructor({ service, app, session, signal }: LiveCallsSettings) {
    const dependencies = {
      service,
      session,
      sources: new SentSources(),
      lines: new WorkerLines(service, signal),
      pack: (call: LiveCall, sent: ReadonlySet<string>) => {
        checkArguments(call);
        return requestJson(
          call,
          sourcesOf(call, (sha256) => app.source(sha256), sent),
        );
      },
    };
    this.#app = app;
    this.#session = session;
    this.#jobs = new LiveJobs(dependencies, signal);
    this.#routes = new LiveRoutes(dependencies);
    this.#openai = new LiveOpenAi(dependencies);
  }

  async queue({ name }: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response> {
    const context = await this.#context(name, line);
    if (call.operation === "run") return await this.#jobs.run(context, call);
    if (call.operation === "runsync") return await this.#jobs.runsync(context, call);
    return await this.#jobs.forward(context, call);
  }

  async route({ name }: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response> {
    return await this.#routes.request(await this.#context(name, line), request, path);
  }

  async openai({ name }: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response> {
    return await this.#openai.request(await this.#context(name, line), request, path);
  }

  /** The current declaration: files may have changed since the request was routed. */
  async #context(name: string, line: CallLine): Promise<CallContext> {
    const all = await this.#app.endpoints();
    const endpoint = all.find((one) => one.name === name);
    if (endpoint === undefined) throw new CallFailure(503, `The endpoint ${name} is no longer declared.`);
    if (endpoint.problem !== undefined) throw new CallFailure(503, endpoint.problem);
    // Workers find them by name. A failure to create one shows when it is called.
    const called = calledEndpoints(endpoint, all).filter((one) => one.name !== name);
    await Promise.allSettled(called.map(async (one) => await this.#session.place(one)));
    return { endpoint, all, line };
  }
}
