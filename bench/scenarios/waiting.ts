/** What one lone caller feels: a job now and then while a worker waits and nothing is queued. */
import { JOB_BODY, STREAMED_JOB_BODY } from "../contestants/handler.ts";
import { type Bench, commanded, interleaved, load, noteLatency, type Scenario } from "./bench.ts";

/** The shorter pause finds everything awake, the longer one finds all connections waiting quietly. */
const PAUSES = [
  { gapMs: 300, count: 10, quickCount: 5 },
  { gapMs: 3_000, count: 3, quickCount: 1 },
] as const;
const CHUNK_PAUSE_MS = 50;

export const dispatch: Scenario = {
  name: "dispatch",
  async run(bench) {
    for (const { gapMs, count, quickCount } of PAUSES) {
      const condition = { scenario: "idle dispatch", variant: `a runsync every ${gapMs / 1_000} s` };
      await interleaved(bench, async (contestant) => {
        const result = await load(bench, contestant, condition, {
          request: { method: "POST", path: "/runsync", body: JOB_BODY },
          clients: 1,
          maxRequests: bench.isQuick ? quickCount : count,
          maxMs: Number.POSITIVE_INFINITY,
          gapMs,
          expectedStatus: "COMPLETED",
        });
        noteLatency(bench, contestant.name, condition, result.latency);
      });
    }
  },
};

export const firstChunk: Scenario = {
  name: "first-chunk",
  async run(bench) {
    const condition = { scenario: "first chunk", variant: "run, then server-sent events" };
    await interleaved(commanded(bench), async (contestant) => {
      const latency = await bench.driver.ask("firstChunk", {
        api: contestant.api,
        body: STREAMED_JOB_BODY,
        count: chunkCount(bench),
        gapMs: CHUNK_PAUSE_MS,
      });
      noteLatency(bench, contestant.name, condition, latency);
    });
  },
};

function chunkCount({ isQuick }: Bench): number {
  return isQuick ? 10 : 50;
}
