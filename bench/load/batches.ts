/** Submits batches of jobs, one after the other. */
import { request } from "undici";
import type { Api, Latency } from "./order.ts";
import { latencyOf } from "./percentiles.ts";

export type BatchOrder = {
  readonly api: Api;
  /** JSON text of the array of jobs. */
  readonly body: string;
  readonly count: number;
};

type Batch = { readonly id?: string; readonly status?: string };

export async function submitBatches(order: BatchOrder): Promise<{ latency: Latency; seconds: number }> {
  const latenciesMs: number[] = [];
  for (let index = 0; index < order.count; index += 1) {
    const sentAt = performance.now();
    const batch = await post(order.api, "/batch", order.body);
    if (batch.status === "DRAFT") await post(order.api, `/batch/${batch.id}/finalize`, "{}");
    latenciesMs.push(performance.now() - sentAt);
  }
  const seconds = latenciesMs.reduce((sum, latencyMs) => sum + latencyMs, 0) / 1_000;
  return { latency: latencyOf(latenciesMs), seconds };
}

async function post({ baseUrl, apiKey }: Api, path: string, body: string): Promise<Batch> {
  const reply = await request(baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body,
  });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`POST ${path} answered ${reply.statusCode}: ${text}`);
  return JSON.parse(text) as Batch;
}
