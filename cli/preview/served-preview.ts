/** The workers of a preview behind the local server. */
import { proxy } from "hono/proxy";
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import {
  type CallLine,
  CallFailure,
  type EndpointCalls,
  type QueueCall,
  type ServedApp,
  type ServedEndpoint,
} from "../server/requests/served-app.ts";
import { answerQueueCall } from "./queue/queue-answers.ts";
import type { PreviewWorker } from "./worker/preview-worker.ts";

export function servedApp(manifest: FlashManifest, name: string): ServedApp {
  const endpoints = Object.entries(manifest.resources).map(([endpoint, resource]) => ({
    name: endpoint,
    resource,
  }));
  return { name, endpoints: async () => endpoints };
}

export class PreviewCalls implements EndpointCalls {
  readonly #workers: ReadonlyMap<string, PreviewWorker>;

  /** By endpoint name. */
  constructor(workers: ReadonlyMap<string, PreviewWorker>) {
    this.#workers = workers;
  }

  async queue(endpoint: ServedEndpoint, call: QueueCall, line: CallLine): Promise<Response> {
    const worker = this.#workers.get(endpoint.name);
    if (!worker?.queue) throw new CallFailure(503, `${endpoint.name} has no queue.`);
    return await answerQueueCall({ queue: worker.queue, call, line, workers: () => worker.counts() });
  }

  async route(endpoint: ServedEndpoint, request: Request, path: string, line: CallLine): Promise<Response> {
    const address = this.#workers.get(endpoint.name)?.address ?? null;
    if (address === null) throw new CallFailure(503, `The container of ${endpoint.name} does not run.`);
    const { method, headers, signal } = request;
    const body = request.body === null ? null : await request.arrayBuffer();
    const url = `${address}${path}${new URL(request.url).search}`;
    try {
      const answer = await proxy(url, { method, headers, signal, body, redirect: "manual" });
      if (answer.ok) line.done({});
      else line.fail(`answered with ${answer.status}`);
      return answer;
    } catch (error) {
      if (signal.aborted) throw error;
      const cause =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new CallFailure(502, `The container of ${endpoint.name} gave no answer: ${cause}`);
    }
  }
}
