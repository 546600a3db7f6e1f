/**
 * Fills the queue of an Endpoint object through its file, while the edge is stopped. The rows are copies of a
 * job that was submitted in the usual way, with sequence numbers and nonces of their own; the object counts
 * them when it starts, as it counts all rows behind its last checkpoint.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { NONCE_BYTES } from "../../src/domain/jobs/job-id.ts";
import { PRIORITY_END, PRIORITY_START } from "../../src/domain/jobs/priorities.ts";
import type { Edge } from "./edge.ts";
import { JOB_BODY } from "./handler.ts";

/** Makes the queue of an endpoint hold exactly so many jobs, or leaves it when it holds more. */
export async function fillTo(edge: Edge, endpointId: string, depth: number): Promise<void> {
  const missing = depth - (await countQueued(edge, endpointId));
  if (missing <= 0) return;
  await edge.call(endpointId, "POST", "run", JOB_BODY); // the others are copies of this one
  await edge.whileStopped(() => addQueuedJobs(edge.stateDirectory, endpointId, missing - 1));
  const queued = await countQueued(edge, endpointId);
  if (queued !== depth) throw new Error(`${depth} jobs should be queued, and there are ${queued}.`);
}

async function countQueued(edge: Edge, endpointId: string): Promise<number> {
  const { jobs } = (await edge.call(endpointId, "GET", "health")) as { jobs: { inQueue: number } };
  return jobs.inQueue;
}

/** Adds copies of the newest queued job; there must be one. */
function addQueuedJobs(stateDirectory: string, endpointId: string, count: number): void {
  const database = openObject(stateDirectory, endpointId);
  try {
    const template = newestQueued(database);
    const copied = columnsOf(database).filter((name) => name !== "seq" && name !== "nonce");
    const statement = database.prepare(
      `INSERT INTO job (seq, nonce, ${copied.join(", ")})
       WITH RECURSIVE added (seq) AS (
         SELECT :first UNION ALL SELECT seq + 1 FROM added WHERE seq < :last
       )
       SELECT added.seq, lower(hex(randomblob(${NONCE_BYTES}))), ${copied.map((name) => `job.${name}`).join(", ")}
         FROM added JOIN job ON job.seq = :template`,
    );
    const first = lastSeq(database) + 1;
    statement.run({ first, last: first + count - 1, template });
  } finally {
    database.close();
  }
}

function openObject(stateDirectory: string, endpointId: string): DatabaseSync {
  const files = globSync(join(stateDirectory, "edge/**/*.sqlite"));
  for (const file of files) {
    const database = new DatabaseSync(file);
    if (isObjectOf(database, endpointId)) return database;
    database.close();
  }
  throw new Error(`The object of endpoint ${endpointId} has no file below ${stateDirectory}.`);
}

function isObjectOf(database: DatabaseSync, endpointId: string): boolean {
  const tables = database
    .prepare("SELECT count(*) AS count FROM sqlite_master WHERE name IN ('job', 'fact')")
    .get();
  if (tables?.["count"] !== 2) return false;
  const config = database.prepare("SELECT json FROM fact WHERE name = 'config'").get();
  return String(config?.["json"]).includes(`"${endpointId}"`);
}

function columnsOf(database: DatabaseSync): string[] {
  return database
    .prepare("SELECT name FROM pragma_table_info('job')")
    .all()
    .map((row) => String(row["name"]));
}

function newestQueued(database: DatabaseSync): number {
  const row = database
    .prepare(
      "SELECT seq FROM job WHERE state = 'queued' AND attempt = 0 AND seq < ? ORDER BY seq DESC LIMIT 1",
    )
    .get(PRIORITY_END.normal);
  if (!row) throw new Error("No job is queued that others could be made after.");
  return Number(row["seq"]);
}

/** The filled rows must follow the last one ever given out, which is the newest row as long as it is queued. */
function lastSeq(database: DatabaseSync): number {
  const row = database
    .prepare("SELECT max(seq) AS last FROM job WHERE seq >= ? AND seq < ?")
    .get(PRIORITY_START.normal, PRIORITY_END.normal);
  return Number(row?.["last"]);
}
