/**
 * Many jobs in one request. An endpoint of Edgerun has no such operation yet: until `POST batch` answers,
 * the scenario says so and measures nothing of it.
 */
import type { Contestant } from "../contestants/contestant.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import { type Bench, commanded, interleaved, load, note, noteLatency, type Scenario } from "./bench.ts";

const BATCH = 100;
const CLIENTS = 4;
const BATCH_BODY = `[${Array.from({ length: BATCH }, () => JOB_BODY).join(",")}]`;
const CONDITION = { scenario: "batch", variant: `${BATCH} jobs a request, ${CLIENTS} clients` };

export const batch: Scenario = {
  name: "batch",
  async run(bench) {
    const able: Contestant[] = [];
    for (const contestant of commanded(bench).contestants) {
      if (await hasBatch(contestant)) able.push(contestant);
      else bench.sheet.remark(`batch: ${contestant.name} has no POST batch yet, so it is NOT MEASURED.`);
    }
    await interleaved({ ...bench, contestants: able }, (contestant) => submitBatches(bench, contestant));
  },
};

async function submitBatches(bench: Bench, contestant: Contestant): Promise<void> {
  await contestant.worker?.pause();
  const result = await load(bench, contestant, CONDITION, {
    request: { method: "POST", path: "/batch", body: BATCH_BODY },
    clients: CLIENTS,
    maxRequests: contestant.budget.batch,
    maxMs: bench.loadMs,
  });
  noteLatency(bench, contestant.name, CONDITION, result.latency);
  note(bench, contestant.name, CONDITION, "jobs", "/s", result.perSecond * BATCH);
  await contestant.worker?.drain(result.count * BATCH);
  await contestant.worker?.resume();
}

async function hasBatch({ api, worker }: Contestant): Promise<boolean> {
  await worker?.pause();
  const reply = await fetch(`${api.baseUrl}/batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${api.apiKey}`, "content-type": "application/json" },
    body: `[${JOB_BODY}]`,
  });
  if (reply.status === 200) await worker?.drain(1);
  await worker?.resume();
  return reply.status === 200;
}
