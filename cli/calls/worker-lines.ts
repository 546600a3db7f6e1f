/** Output of workers of live endpoints, shown with the calls that it belongs to. */
import { setTimeout as delay } from "node:timers/promises";
import { LOG_LIVE_DELAY_MS } from "../../src/contract/agent/log.ts";
import type { CallLine } from "../server/requests/served-app.ts";
import type { Service } from "../service/service.ts";
import { followEndpointLog, type LogLine } from "./endpoint-log.ts";

/** How long a call that has ended still receives lines, which arrive separately. */
const LATE_LINES_MS = 5_000;
/** Delay of the first batch of lines, and of later ones: hosts buffer lines before they send them. */
const FIRST_BATCH_MS = LOG_LIVE_DELAY_MS + 400;
const NEXT_BATCH_MS = LOG_LIVE_DELAY_MS + 100;
/** Limit of the delay that a worker which keeps printing causes for the display of later calls. */
const LOG_WAIT_MAX_MS = 2_000;
const POLL_MS = 100;
/** Buffered lines of jobs whose id no call knows yet: a job may print before its id is returned. */
const EARLY_MAX = 1_000;

export type OpenCall = {
  readonly line: CallLine;
  readonly startedAt: number;
  jobId?: string;
  endedAt?: number;
  /** When its last line arrived. */
  printedAt?: number;
};
type EarlyLine = { readonly jobId: string; readonly text: string };

export class WorkerLines {
  readonly #service: Service;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, Set<OpenCall>>();
  readonly #followed = new Set<string>();
  /** Since when the log of an endpoint is followed. */
  readonly #followedAt = new Map<string, number>();
  #early: readonly EarlyLine[] = [];

  constructor(service: Service, signal: AbortSignal) {
    this.#service = service;
    this.#signal = signal;
  }

  /** Assigns lines of the endpoint to a call: those of its job, once its id is known. */
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
    await followEndpointLog(this.#service, endpointId, {
      since: Date.now,
      limit: 1,
      onOpen: () => {
        if (!this.#followedAt.has(endpointId)) this.#followedAt.set(endpointId, Date.now());
      },
      onLine: (line) => this.#show(endpointId, line),
      signal: this.#signal,
    });
    this.#followed.delete(endpointId);
  }

  #show(endpointId: string, { source, line, jobId, at = Date.now() }: LogLine): void {
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

/** When no more lines are expected of a call that has ended; `followedAt`: since when the log is followed. */
export function quietAt(
  { endedAt = Infinity, printedAt = 0 }: Pick<OpenCall, "endedAt" | "printedAt">,
  followedAt = Infinity,
): number {
  const quiet = Math.max(Math.max(endedAt, followedAt) + FIRST_BATCH_MS, printedAt + NEXT_BATCH_MS);
  return Math.min(quiet, endedAt + LOG_WAIT_MAX_MS);
}

/** The latest call that was running at that time, or nearly so, since clocks may differ a little. */
export function nearest(calls: readonly OpenCall[], at: number): OpenCall | undefined {
  const awayMs = ({ startedAt, endedAt = Infinity }: OpenCall): number =>
    Math.max(startedAt - at, at - endedAt, 0);
  return calls.toReversed().toSorted((one, other) => awayMs(one) - awayMs(other))[0];
}
