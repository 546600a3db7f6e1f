/** Forwards requests of OpenAI clients to the service. */
import { parseJson } from "../../../src/std/json.ts";
import * as z from "zod";
import { forwardedHeaders, responseHeaders } from "../../calls/forwarded-headers.ts";
import { type CallContext, type CallDependencies, EndpointNotFound, withPlace } from "./call-context.ts";

/** Response header with the id of the job. */
const JOB_HEADER = "x-request-id";

const errorSchema = z.looseObject({
  error: z.looseObject({ message: z.string(), code: z.string().nullish() }),
});

export class LiveOpenAi {
  readonly #dependencies: CallDependencies;

  constructor(dependencies: CallDependencies) {
    this.#dependencies = dependencies;
  }

  /** Answers as the service does, including errors and streams. */
  async request(context: CallContext, request: Request, path: string): Promise<Response> {
    const { endpoint, line } = context;
    const { search } = new URL(request.url);
    const headers = new Headers(forwardedHeaders(request));
    headers.set("accept-encoding", "identity");
    const body = Buffer.from(await request.arrayBuffer());
    return await withPlace(this.#dependencies.session, endpoint, async ({ endpointId }) => {
      const lines = this.#dependencies.lines.expect(endpointId, line);
      const startedAt = performance.now();
      try {
        const response = await this.#dependencies.service.request(`/v2/${endpointId}${path}${search}`, {
          method: request.method,
          headers,
          ...(body.length > 0 && { body }),
          signal: request.signal,
        });
        const jobId = response.headers.get(JOB_HEADER);
        if (jobId !== null) lines.ofJob(jobId);
        await endLineOf(response, context, startedAt);
        const { status, statusText } = response;
        return new Response(response.body, { status, statusText, headers: responseHeaders(response) });
      } finally {
        lines.ended();
      }
    });
  }
}

/** Ends the line of a call; throws EndpointNotFound. */
async function endLineOf(response: Response, { line }: CallContext, startedAt: number): Promise<void> {
  if (response.ok) return line.done({ ranMs: performance.now() - startedAt });
  const text = await response.clone().text();
  const error = errorSchema.safeParse(parseJson(text)).data?.error;
  if (error?.code === "endpoint_not_found") throw new EndpointNotFound();
  line.fail(`HTTP ${response.status}: ${error?.message ?? text.slice(0, 500)}`);
}
