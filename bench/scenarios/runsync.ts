/** HTTP in, queue, worker, HTTP out: a job and its result in one request. */
import { type Bench, interleaved, load, note, noteLatency, type Scenario } from "./bench.ts";

const CLIENTS = [1, 16, 64] as const;
const WARM_UP_MS = 1_000;

export const runsync: Scenario = {
  name: "runsync",
  async run(bench) {
    await warmUp(bench);
    for (const clients of CLIENTS) {
      const condition = {
        scenario: "runsync",
        variant: `${clients} ${clients === 1 ? "client" : "clients"}`,
      };
      await interleaved(bench, async (contestant) => {
        const result = await load(bench, contestant, condition, {
          request: { method: "POST", path: "/runsync", body: bench.jobBody },
          clients,
          maxRequests: contestant.budget.runsync,
          maxMs: bench.loadMs,
          expectedStatus: "COMPLETED",
        });
        noteLatency(bench, contestant.name, condition, result.latency);
        note(bench, contestant.name, condition, "jobs", "/s", result.perSecond);
      });
    }
  },
};

/** Compilers optimise what has run for a while; nobody's first second is measured. */
async function warmUp(bench: Bench): Promise<void> {
  for (const contestant of bench.contestants) {
    await bench.driver.ask("load", {
      api: contestant.api,
      request: { method: "POST", path: "/runsync", body: bench.jobBody },
      clients: 16,
      maxRequests: contestant.budget.runsync,
      maxMs: WARM_UP_MS,
    });
  }
}
