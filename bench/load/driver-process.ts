/** The load driver, in a process of its own: the same for all contestants. */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "undici";
import { answerCommands } from "../process/commands.ts";
import { submitBatches } from "./batches.ts";
import { firstChunk } from "./first-chunk.ts";
import type { LoadOrder, LoadResult } from "./order.ts";
import { latencyOf } from "./percentiles.ts";

type Reply = { readonly id?: string; readonly status?: string };

class Load {
  readonly #order: LoadOrder;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #latenciesMs: number[] = [];
  readonly #ids: string[] = [];
  #sent = 0;
  #failures = 0;
  #firstFailure: string | null = null;
  #endAt = 0;

  constructor(order: LoadOrder) {
    this.#order = order;
    this.#path = new URL(order.api.baseUrl).pathname;
    this.#headers = {
      authorization: `Bearer ${order.api.apiKey}`,
      ...(order.request.body !== undefined && { "content-type": "application/json" }),
    };
  }

  async run(): Promise<LoadResult> {
    const { clients, maxMs, api } = this.#order;
    const { origin } = new URL(api.baseUrl);
    // A connection per client, as each client keeps its own.
    const connections = Array.from({ length: clients }, () => new Client(origin, { pipelining: 1 }));
    const startedAt = performance.now();
    this.#endAt = startedAt + maxMs;
    await Promise.all(connections.map((connection) => this.#runClient(connection)));
    const seconds = (performance.now() - startedAt) / 1_000;
    await Promise.all(connections.map((connection) => connection.close()));
    const count = this.#latenciesMs.length;
    return {
      count,
      failures: this.#failures,
      firstFailure: this.#firstFailure,
      seconds,
      perSecond: count / seconds,
      latency: latencyOf(this.#latenciesMs),
      ids: this.#ids,
    };
  }

  async #runClient(connection: Client): Promise<void> {
    const { gapMs = 0 } = this.#order;
    for (let path = this.#nextPath(); path !== undefined; path = this.#nextPath()) {
      await this.#request(connection, path);
      if (gapMs > 0) await delay(gapMs);
    }
  }

  /** Undefined when the load is over. */
  #nextPath(): string | undefined {
    const { request, maxRequests, ids, areIdsReused } = this.#order;
    if (this.#sent >= maxRequests || performance.now() >= this.#endAt) return undefined;
    const index = this.#sent;
    this.#sent += 1;
    if (!ids) return this.#path + request.path;
    const id = ids[areIdsReused ? index % ids.length : index];
    return id === undefined ? undefined : this.#path + request.path.replace("$ID", id);
  }

  async #request(connection: Client, path: string): Promise<void> {
    const { request, expectedStatus, isCollecting } = this.#order;
    const sentAt = performance.now();
    const { statusCode, body } = await connection.request({
      method: request.method,
      path,
      headers: this.#headers,
      body: request.body ?? null,
    });
    const text = await body.text();
    const latencyMs = performance.now() - sentAt;
    const reply = statusCode === 200 ? (JSON.parse(text) as Reply) : undefined;
    if (!reply || (expectedStatus !== undefined && reply.status !== expectedStatus))
      return this.#fail(statusCode, text);
    this.#latenciesMs.push(latencyMs);
    if (isCollecting && reply.id !== undefined) this.#ids.push(reply.id);
  }

  #fail(statusCode: number, text: string): void {
    this.#failures += 1;
    this.#firstFailure ??= `${statusCode} ${text.slice(0, 300)}`;
  }
}

const commands = {
  load: (order: LoadOrder): Promise<LoadResult> => new Load(order).run(),
  firstChunk,
  submitBatches,
};
export type DriverCommands = typeof commands;

answerCommands(commands);
