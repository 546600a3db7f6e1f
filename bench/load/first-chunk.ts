/** From submitting a job to its first chunk, read as server-sent events. */
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import type { Api, Latency } from "./order.ts";
import { latencyOf } from "./percentiles.ts";

export type FirstChunkOrder = {
  readonly api: Api;
  /** JSON text of a job that yields a chunk at once. */
  readonly body: string;
  readonly count: number;
  readonly gapMs: number;
};

export async function firstChunk({ api, body, count, gapMs }: FirstChunkOrder): Promise<Latency> {
  const latenciesMs: number[] = [];
  for (let index = 0; index < count; index += 1) {
    latenciesMs.push(await once(api, body));
    await delay(gapMs);
  }
  return latencyOf(latenciesMs);
}

async function once({ baseUrl, apiKey }: Api, body: string): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const sentAt = performance.now();
  const submitted = await request(`${baseUrl}/run`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  const { id } = (await submitted.body.json()) as { id: string };
  const streamed = await request(`${baseUrl}/stream/${id}`, {
    headers: { ...headers, accept: "text/event-stream" },
  });
  let latencyMs: number | undefined;
  let text = "";
  for await (const piece of streamed.body.setEncoding("utf8")) {
    text += String(piece);
    if (/^data: /m.test(text)) latencyMs ??= performance.now() - sentAt;
  }
  if (latencyMs === undefined) throw new Error(`no chunk came: ${streamed.statusCode} ${text.slice(0, 300)}`);
  return latencyMs;
}
