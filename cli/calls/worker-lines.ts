/** What workers of live endpoints print, shown with the calls that made them print it. */
import { setTimeout as delay } from "node:timers/promises";
import { EventSourceParserStream } from "eventsource-parser/stream";
import * as z from "zod";
import { LOG_LIVE_DELAY_MS } from "../../src/contract/limits.ts";
import { Failure } from "../core/failure.ts";
import type { CallLine } from "../server/requests/served-app.ts";
import type { Service } from "../service/service.ts";

const lineSchema = z.looseObject({
  source: z.string(),
  line: z.string(),
  /** When it was printed, in ms. */
  at: z.number().optional(),
  jobId: z.string().optional(),
});

/** Between two attempts to follow lines. */
const PAUSE_MS = 1_000;
/** For which a call that is over still gets its lines: they come by a way of their own. */
const LATE_LINES_MS = 5_000;
/** Within which the first of them come, and each further part: they are gathered on the host, and cross the service. */
const FIRST_BATCH_MS = LOG_LIVE_DELAY_MS + 400;
const NEXT_BATCH_MS = LOG_LIVE_DELAY_MS + 100;
/** A worker that prints on and on holds up the calls that are shown after it for no longer than this. */
const LOG_WAIT_MAX_MS = 2_000;
const POLL_MS = 100;
/** Lines of jobs that no call has told its own yet: a job may print before its caller has its id. */
const EARLY_MAX = 1_000;

export type OpenCall = {
  readonly line: CallLine;
  readonly startedAt: number;
  jobId?: string;
  endedAt?: number;
  /** When the last line of it came. */
  printedAt?: number;
};
type EarlyLine = { readonly jobId: string; readonly text: string };

export class WorkerLines {
  readonly #service: Service;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, Set<OpenCall>>();
  readonly #followed = new Set<string>();
  /** Since when lines of an endpoint come. */
  readonly #followedAt = new Map<string, number>();
  #early: readonly EarlyLine[] = [];

  constructor(service: Service, signal: AbortSignal) {
    this.#service = service;
    this.#signal = signal;
  }

  /** From now on lines of the endpoint belong to this call: those of its job, once that is known. */
  expect(endpointId: string, line: CallLine): { ofJob(id: string): void; ended(): void } {
    const call: OpenCall = { line, startedAt: Date.now() };
    const onLogEnded = line.awaitLog();
    const calls = this.#open.get(endpointId) ?? new Set();
    this.#open.set(endpointId, calls.add(call));
    if (!this.#followed.has(endpointId)) void this.#follow(endpointId);
    return {
      ofJob: (id) => {
        call.jobId = id;
        for (const { jobId, text } of this.#early) if (jobId === id) print(call, text);
        this.#early = this.#early.filter(({ jobId }) => jobId !== id);
      },
      ended: () => {
        call.endedAt = Date.now();
        void this.#untilQuiet(endpointId, call).finally(onLogEnded);
        setTimeout(() => calls.delete(call), LATE_LINES_MS).unref();
      },
    };
  }

  async #untilQuiet(endpointId: string, call: OpenCall): Promise<void> {
    while (quietAt(call, this.#followedAt.get(endpointId)) > Date.now()) {
      await delay(POLL_MS, undefined, { ref: false });
    }
  }

  async #follow(endpointId: string): Promise<void> {
    this.#followed.add(endpointId);
    try {
      while (!this.#signal.aborted && (await this.#read(endpointId))) {
        await delay(PAUSE_MS, undefined, { signal: this.#signal });
      }
    } catch {
      // Without its lines a call still works.
    } finally {
      this.#followed.delete(endpointId);
    }
  }

  /** False when the endpoint has gone. */
  async #read(endpointId: string): Promise<boolean> {
    const response = await this.#service
      .request(`/v2/${endpointId}/logs?limit=1&since=${Date.now()}`, {
        headers: { Accept: "text/event-stream" },
        signal: this.#signal,
      })
      .catch((error: unknown) => {
        if (error instanceof Failure) return undefined;
        throw error;
      });
    if (response === undefined) return true;
    if (!response.ok || response.body === null) return response.status !== 404;
    if (!this.#followedAt.has(endpointId)) this.#followedAt.set(endpointId, Date.now());
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    try {
      for await (const { data } of events) this.#show(endpointId, data);
    } catch {
      this.#signal.throwIfAborted(); // The connection broke off; it is made anew.
    }
    return true;
  }

  #show(endpointId: string, data: string): void {
    const read = lineSchema.safeParse(JSON.parse(data));
    if (!read.success) return;
    const { source, line, jobId, at = Date.now() } = read.data;
    const calls = [...(this.#open.get(endpointId) ?? [])];
    const own = jobId === undefined ? calls : calls.filter((call) => call.jobId === jobId);
    const call = nearest(own, at);
    if (source === "system") {
      if (call?.endedAt === undefined) call?.line.waiting(line);
    } else if (call !== undefined) print(call, line);
    else if (jobId !== undefined) this.#early = [...this.#early, { jobId, text: line }].slice(-EARLY_MAX);
  }
}

function print(call: OpenCall, output: string): void {
  call.printedAt = Date.now();
  call.line.printed(output);
}

/** From when on no more lines are expected of a call that is over; `followedAt`: since when lines come at all. */
export function quietAt(
  { endedAt = Infinity, printedAt = 0 }: Pick<OpenCall, "endedAt" | "printedAt">,
  followedAt = Infinity,
): number {
  const quiet = Math.max(Math.max(endedAt, followedAt) + FIRST_BATCH_MS, printedAt + NEXT_BATCH_MS);
  return Math.min(quiet, endedAt + LOG_WAIT_MAX_MS);
}

/** The latest call that was under way then; clocks may differ a little, so one that was nearly so will do. */
export function nearest(calls: readonly OpenCall[], at: number): OpenCall | undefined {
  const awayMs = ({ startedAt, endedAt = Infinity }: OpenCall): number =>
    Math.max(startedAt - at, at - endedAt, 0);
  return calls.toReversed().toSorted((one, other) => awayMs(one) - awayMs(other))[0];
}
