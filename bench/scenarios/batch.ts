/** Many jobs in one request. A batch that is a draft first is started by a second one, which counts too. */
import { JOB_BODY } from "../contestants/handler.ts";
import { type Bench, commanded, interleaved, note, noteLatency, type Scenario } from "./bench.ts";

/** Few enough batches to be active at once; a drained one is over. */
const BATCHES = 5;
const JOBS = 1_000;
const BATCH_BODY = `[${Array.from({ length: JOBS }, () => JOB_BODY).join(",")}]`;
const CONDITION = { scenario: "batch", variant: `${JOBS.toLocaleString("en")} jobs a batch, 1 client` };

export const batch: Scenario = {
  name: "batch",
  async run(bench: Bench) {
    await interleaved(commanded(bench), async ({ name, api, worker }) => {
      await worker?.pause();
      const order = { api, body: BATCH_BODY, count: BATCHES };
      const { latency, seconds } = await bench.driver.ask("submitBatches", order);
      noteLatency(bench, name, CONDITION, latency);
      note(bench, name, CONDITION, "jobs", "/s", (BATCHES * JOBS) / seconds);
      await worker?.drain(BATCHES * JOBS);
      await worker?.resume();
    });
  },
};
