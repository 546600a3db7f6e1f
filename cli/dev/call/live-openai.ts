/** Forwards requests of OpenAI clients to the service. */
import { parseJson } from "../../../src/std/json.ts";
import * as z from "zod";
import { forwardRequest, passedOn } from "../../calls/forwarding.ts";
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
    const { service, session, lines: workerLines } = this.#dependencies;
    return await withPlace(session, context.endpoint, async ({ endpointId }) => {
      const lines = workerLines.expect(endpointId, context.line);
      const startedAt = performance.now();
      try {
        const response = await forwardRequest(service, `/v2/${endpointId}${path}`, request);
        const jobId = response.headers.get(JOB_HEADER);
        if (jobId !== null) lines.ofJob(jobId);
        await endLineOf(response, context, startedAt);
        return passedOn(response);
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
