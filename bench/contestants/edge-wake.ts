/**
 * How long a queue takes to answer after its object lost its memory. The whole edge is restarted, which
 * takes every object's memory. Calls to other endpoints come first, so that the start of the script, its
 * compilation and the check of the key are not in the figures.
 *
 * What is in them: HTTP, the look-up of the endpoint in D1, the start of the object, opening its file, bringing
 * the ledger up to date, and reading the job.
 */
import { randomUUID } from "node:crypto";
import type { WakeTimes } from "./contestant.ts";
import { createEndpoint, type Edge } from "./edge.ts";
import { JOB_BODY } from "./handler.ts";

const WARM_UP = 5;

type Job = { readonly endpointId: string; readonly jobId: string };

export async function wakeTimes(edge: Edge, endpointId: string): Promise<WakeTimes> {
  const full = await submit(edge, endpointId);
  const others: Job[] = [];
  for (let count = 0; count < WARM_UP; count += 1) others.push(await newJob(edge));
  const almostEmpty = await newJob(edge);
  await edge.whileStopped(() => {});
  for (const other of others) await firstStatus(edge, other);
  return { almostEmpty: await firstStatus(edge, almostEmpty), full: await firstStatus(edge, full) };
}

/** A job on an endpoint of its own. */
async function newJob(edge: Edge): Promise<Job> {
  const name = `bench-${randomUUID()}`;
  return submit(edge, await createEndpoint(edge.management, { name, workers: 0 }));
}

async function submit(edge: Edge, endpointId: string): Promise<Job> {
  const { id } = (await edge.call(endpointId, "POST", "run", JOB_BODY)) as { id: string };
  return { endpointId, jobId: id };
}

async function firstStatus(edge: Edge, { endpointId, jobId }: Job): Promise<number> {
  const requestedAt = performance.now();
  await edge.call(endpointId, "GET", `status/${jobId}`);
  return performance.now() - requestedAt;
}
