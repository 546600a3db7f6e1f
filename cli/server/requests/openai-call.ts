/** Requests of OpenAI's clients to images of one's own, which may speak that API. */
import { OPENAI_BODY_MAX_BYTES } from "../../../src/contract/limits.ts";
import { RequestError } from "./responses.ts";
import { answerObserved } from "./observed-call.ts";
import type { Call } from "./queue-call.ts";
import { wholeRequest } from "./request-body.ts";
import type { EndpointCalls } from "./served-app.ts";

const PREFIX = "/openai/";

/** Of a server with the service behind it. */
type OpenAiCall = Call & { readonly calls: Required<EndpointCalls> };

/** Whether a request is the service's to translate; where load is balanced workers are asked as they are. */
export function isOpenAiCall(call: Call): call is OpenAiCall {
  const { resource } = call.endpoint;
  const isOwnQueue = resource.client_mode === true && !resource.is_load_balanced;
  return isOwnQueue && call.calls.openai !== undefined && call.path.startsWith(PREFIX);
}

export async function answerOpenAiCall(call: OpenAiCall): Promise<Response> {
  const { endpoint, request, path, calls, log } = call;
  const { pathname } = new URL(request.url);
  const line = log.begin({ method: request.method, path: pathname, endpoint: endpoint.name });
  return await answerObserved(line, request, async () => {
    if (endpoint.problem !== undefined)
      throw new RequestError(503, `${endpoint.name} cannot be called now: ${endpoint.problem}`);
    return await calls.openai(endpoint, await wholeRequest(request, OPENAI_BODY_MAX_BYTES), path, line);
  });
}
