/**
 * Supervised processes, such as the edge and the agent, run until we stop them.
 *
 * K1  A process that ends unexpectedly is started again, on the same state, and a line reports it.
 * K2  Restarts of a process that does not stay up back off, up to 15 seconds.
 * K3  After `stop` the process has ended and is not started again.
 */
import { errorMessage } from "../src/std/errors.ts";
import { retryDelayMs } from "../src/std/waiting.ts";
import { setTimeout as delay } from "node:timers/promises";

const RETRY = { baseMs: 250, capMs: 15_000 };
/** A process that ran this long was healthy; its next end is not counted with earlier ones. */
const STEADY_MS = 30_000;

/** One running process of ours. */
export type SupervisedProcess = {
  readonly pid: number;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
};

export type Supervisor = { stop(): Promise<void> };

type SupervisorOptions = {
  readonly name: string;
  readonly start: () => Promise<SupervisedProcess>;
  readonly onStarted: (child: SupervisedProcess) => void;
  readonly notify: (line: string) => void;
};

/** Starts a process and keeps it running. Rejects when the first start fails. */
export async function supervise({ name, start, onStarted, notify }: SupervisorOptions): Promise<Supervisor> {
  const stopping = new AbortController();
  let child = await start();
  onStarted(child);

  async function startAgain(endsBefore: number): Promise<number> {
    for (let ends = endsBefore + 1; ; ends += 1) {
      await delay(retryDelayMs(ends, RETRY), undefined, { signal: stopping.signal }); // K2, K3
      try {
        child = await start();
        onStarted(child);
        notify(`${name}: running again (process ${child.pid})`);
        return ends;
      } catch (error) {
        notify(`${name}: could not be started: ${errorMessage(error)}`);
      }
    }
  }

  async function restartLoop(): Promise<void> {
    let ends = 0;
    while (!stopping.signal.aborted) {
      const startedAt = Date.now();
      const reason = await child.ended;
      if (stopping.signal.aborted) return;
      if (Date.now() - startedAt > STEADY_MS) ends = 0;
      notify(`${name}: ended unexpectedly (${reason}); starting it again`); // K1
      ends = await startAgain(ends);
    }
  }

  const loop = restartLoop().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  return {
    async stop() {
      stopping.abort();
      await child.stop();
      await loop;
      await child.stop(); // of a start that was in progress
    },
  };
}
