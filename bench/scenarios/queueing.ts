/** Jobs go into the queue while no worker takes any, then a worker drains it. */
import type { CommandedWorker, Contestant } from "../contestants/contestant.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import { type Bench, commanded, interleaved, load, note, noteLatency, type Scenario } from "./bench.ts";

const SUBMITTED = { scenario: "run", variant: "64 clients, no worker" };
const DRAINED = { scenario: "drain", variant: "a worker with 64 slots" };
const CLIENTS = 64;

export const queueing: Scenario = {
  name: "queueing",
  async run(bench) {
    await interleaved(commanded(bench), async (contestant) => {
      const { worker } = contestant;
      if (worker) await queueAndDrain(bench, contestant, worker);
    });
  },
};

async function queueAndDrain(bench: Bench, contestant: Contestant, worker: CommandedWorker): Promise<void> {
  await worker.pause();
  const submitted = await load(bench, contestant, SUBMITTED, {
    request: { method: "POST", path: "/run", body: JOB_BODY },
    clients: CLIENTS,
    maxRequests: contestant.budget.run,
    maxMs: bench.loadMs,
    expectedStatus: "IN_QUEUE",
  });
  noteLatency(bench, contestant.name, SUBMITTED, submitted.latency);
  note(bench, contestant.name, SUBMITTED, "jobs", "/s", submitted.perSecond);
  const seconds = await worker.drain(submitted.count);
  note(bench, contestant.name, DRAINED, "jobs", "/s", submitted.count / seconds);
  await worker.resume();
}
