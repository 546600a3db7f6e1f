/** Requests to routes of live endpoints. */
import { parseJson } from "../../../src/std/json.ts";
import * as z from "zod";
import {
  LIVE_EXECUTE_PATH,
  LIVE_OUTCOME_HEADER,
  LIVE_TOKEN_HEADER,
  type LiveHttp,
} from "../../../src/contract/flash/flash-live.ts";
import { Failure } from "../../../src/std/failure.ts";
import { Interruption } from "../../core/interruption.ts";
import { CallFailure } from "../../server/requests/served-app.ts";
import type { LivePlace } from "../session/live-session.ts";
import { forwardedHeaders, passedOn } from "../../calls/forwarding.ts";
import { type CallContext, type CallDependencies, EndpointNotFound, withPlace } from "./call-context.ts";
import { hashesOf, routeCall } from "./live-request.ts";

const WORKER_HEADER = "X-Runpod-Worker-Id";
/** Status of the local server for a status of the service. */
const STATUS_OF_SERVICE: Readonly<Record<number, CallFailure["status"]>> = { 502: 502, 524: 504 };
/** Error codes of the service about a worker that did not answer. */
const CODES_OF_SERVICE = ["worker_failed", "worker_too_slow"];

export class LiveRoutes {
  readonly #dependencies: CallDependencies;

  constructor(dependencies: CallDependencies) {
    this.#dependencies = dependencies;
  }

  /** Answers as the route does; the body may be a stream. */
  async request(context: CallContext, request: Request, path: string): Promise<Response> {
    const { endpoint, line } = context;
    const http = await packRequest(request, path);
    return await withPlace(this.#dependencies.session, endpoint, async (place) => {
      const lines = this.#dependencies.lines.expect(place.endpointId, line);
      const startedAt = performance.now();
      try {
        const response = endpoint.resource.client_mode
          ? await this.#forward(place, http, request.signal)
          : await this.#execute(place, context, http, request.signal);
        return await answerOf(response, context, startedAt);
      } catch (error) {
        // A worker may have received the request, so it is not sent again.
        if (!(error instanceof Failure) || error instanceof Interruption) throw error;
        throw new CallFailure(502, error.message);
      } finally {
        lines.ended();
      }
    });
  }

  async #execute(
    place: LivePlace,
    context: CallContext,
    http: LiveHttp,
    signal: AbortSignal,
  ): Promise<Response> {
    const { pack, sources } = this.#dependencies;
    const call = routeCall({ ...context, http });
    const sent = sources.of(place.endpointId);
    let response = await this.#send(place, pack(call, sent), signal);
    if (response.headers.get(LIVE_OUTCOME_HEADER) === "missing-modules") {
      await response.body?.cancel();
      sources.forget(place.endpointId);
      response = await this.#send(place, pack(call, new Set()), signal);
    }
    if (response.headers.has(WORKER_HEADER)) sources.add(place.endpointId, hashesOf(call));
    return response;
  }

  async #send({ endpointId, liveToken }: LivePlace, body: string, signal: AbortSignal): Promise<Response> {
    return await this.#dependencies.service.request(`/lb/${endpointId}${LIVE_EXECUTE_PATH}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        [LIVE_TOKEN_HEADER]: liveToken,
      },
      body,
      redirect: "manual",
      signal,
    });
  }

  /** For endpoints with their own image, which have no live mode. */
  async #forward(place: LivePlace, http: LiveHttp, signal: AbortSignal): Promise<Response> {
    const { method, path, query, headers, body_base64 } = http;
    const hasBody = method !== "GET" && method !== "HEAD";
    return await this.#dependencies.service.request(`/lb/${place.endpointId}${path}${query && `?${query}`}`, {
      method,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      ...(hasBody ? { body: Buffer.from(body_base64, "base64") } : {}),
      redirect: "manual",
      signal,
    });
  }
}

async function answerOf(response: Response, { line }: CallContext, startedAt: number): Promise<Response> {
  const worker = response.headers.get(WORKER_HEADER);
  if (worker !== null) line.running({ id: worker });
  if (response.headers.has(LIVE_OUTCOME_HEADER)) throw await workerError(response);
  if (worker === null && response.status === 404) throw new EndpointNotFound();
  if (response.status >= 400 && (worker === null || (await isServiceError(response))))
    throw await serviceError(response);
  line.done({ ranMs: performance.now() - startedAt });
  return passedOn(response);
}

/** Whether the error is one of the service instead of a worker; routes may answer with the same status. */
async function isServiceError(response: Response): Promise<boolean> {
  if (STATUS_OF_SERVICE[response.status] === undefined) return false;
  const { code } = parseErrorBody(await response.clone().text());
  return code !== undefined && CODES_OF_SERVICE.includes(code);
}

/** Packs a whole request into a member of another one. */
async function packRequest(request: Request, path: string): Promise<LiveHttp> {
  const body = Buffer.from(await request.arrayBuffer());
  return {
    method: request.method,
    path,
    query: new URL(request.url).search.replace(/^\?/, ""),
    headers: forwardedHeaders(request),
    body_base64: body.toString("base64"),
  };
}

/** An error of the worker itself, not of the route. */
async function workerError(response: Response): Promise<CallFailure> {
  const { detail, traceback } = parseErrorBody(await response.text());
  return new CallFailure(500, detail, traceback);
}

/** An error of the service: no worker was available, or the worker was lost. */
async function serviceError(response: Response): Promise<CallFailure> {
  const { detail } = parseErrorBody(await response.text());
  return new CallFailure(STATUS_OF_SERVICE[response.status] ?? 503, detail);
}

const errorBodySchema = z.looseObject({
  detail: z.string(),
  traceback: z.string().optional(),
  code: z.string().optional(),
});

function parseErrorBody(text: string): z.output<typeof errorBodySchema> {
  const { data } = errorBodySchema.safeParse(parseJson(text));
  return data ?? { detail: text.slice(0, 2_000) || "There was no response body." };
}
