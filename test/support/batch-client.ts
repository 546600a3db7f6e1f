/** A client of the batches of an endpoint that keeps trying while the edge is down, as a patient user would. */
import type { BatchSummary } from "../../src/contract/batch.ts";
import { until } from "./until.ts";

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };
type Page = { requests: { id: string; status: string; output: unknown }[]; total: number; hasMore: boolean };

export class BatchClient {
  readonly #address: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey, endpointId }: Target) {
    this.#address = `${baseUrl}/v2/${endpointId}`;
    this.#apiKey = apiKey;
  }

  /** One request of the queue API; throws unless it is answered with 200. */
  async call<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(`${this.#address}/${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.#apiKey}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json() as Promise<Reply>;
  }

  /** Asks until the edge is there. */
  async insist<Reply>(method: string, path: string): Promise<Reply> {
    const look = () => this.call<Reply>(method, path);
    return (await until(look, `an answer to ${method} ${path}`, 60_000)) as Reply;
  }

  /** As the documentation says when all requests have finished. */
  async untilEnded(id: string): Promise<BatchSummary> {
    const look = async () => {
      const batch = await this.insist<BatchSummary>("GET", `batch/${id}`);
      if (batch.requestCompleted + batch.requestFailed !== batch.requestTotal)
        throw new Error(JSON.stringify(batch));
      return batch;
    };
    return until(look, `the end of the batch ${id}`, 120_000);
  }

  async allRequests(id: string): Promise<Page["requests"]> {
    const all: Page["requests"] = [];
    for (;;) {
      const page = await this.call<Page>("GET", `batch/${id}/requests?limit=500&offset=${all.length}`);
      all.push(...page.requests);
      if (!page.hasMore) return all;
    }
  }
}

/** Requests whose jobs return numbers, beginning with `from`. */
export const returning = (from: number, count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({ input: { mock_return: from + index } }));
