/** A client of logs: asks for pages, and follows as a browser does, going on after a broken connection. */
import { setTimeout as delay } from "node:timers/promises";
import type { LogPage, LogLineView } from "../../src/contract/agent/log.ts";
import { until } from "./until.ts";

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };

const AGAIN_MS = 50;

export class LogClient {
  readonly #address: string;
  readonly #headers: Record<string, string>;

  constructor({ baseUrl, apiKey, endpointId }: Target) {
    this.#address = `${baseUrl}/v2/${endpointId}/logs`;
    this.#headers = { Authorization: `Bearer ${apiKey}` };
  }

  async lines(parameters: Record<string, string>): Promise<readonly LogLineView[]> {
    const query = new URLSearchParams(parameters).toString();
    const response = await fetch(`${this.#address}?${query}`, { headers: this.#headers });
    if (response.status !== 200)
      throw new Error(`logs answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as LogPage).lines;
  }

  /** Reads the lines until they match. */
  async until(
    parameters: Record<string, string>,
    matches: (lines: readonly LogLineView[]) => boolean,
  ): Promise<readonly LogLineView[]> {
    const look = async () => {
      const lines = await this.lines(parameters);
      if (!matches(lines)) throw new Error(JSON.stringify(lines));
      return lines;
    };
    return until(look, `log lines of ${JSON.stringify(parameters)}`, 120_000);
  }

  /** What is kept, then all that follow; ends with the signal. */
  async *follow(parameters: Record<string, string>, signal: AbortSignal): AsyncGenerator<LogLineView> {
    let lastId: string | undefined;
    while (!signal.aborted) {
      try {
        for await (const { id, data } of this.#connect(parameters, lastId, signal)) {
          lastId = id ?? lastId;
          yield data;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof TypeError)) throw error; // what fetch throws when there is no connection
      }
      // oxlint-disable-next-line edgerun/no-sleeps -- a client connects again until the caller stops it
      await delay(AGAIN_MS);
    }
  }

  async *#connect(parameters: Record<string, string>, lastId: string | undefined, signal: AbortSignal) {
    const headers = {
      ...this.#headers,
      Accept: "text/event-stream",
      ...(lastId && { "Last-Event-ID": lastId }),
    };
    const query = new URLSearchParams(parameters).toString();
    const response = await fetch(`${this.#address}?${query}`, { headers, signal });
    if (response.status !== 200)
      throw new Error(`logs answered ${response.status}: ${await response.text()}`);
    if (!response.body) return;
    let text = "";
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + part).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        const id = /^id: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield { id, data: JSON.parse(data) as LogLineView };
      }
    }
  }
}
