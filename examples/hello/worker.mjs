/**
 * A complete worker in one file: Node 20 or newer, no dependencies.
 *
 * The handler is the first function below. The rest is all that a worker must do to be one: ask for a job,
 * run the handler, post the result, say that it is alive, stop what was cancelled, leave when told.
 */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * @param {{ name?: string, seconds?: number, fail?: string }} input
 * @param {{ progress: (value: unknown) => Promise<unknown>, signal: AbortSignal }} job
 */
async function greet({ name = "world", seconds = 0, fail }, { progress, signal }) {
  for (let second = 1; second <= seconds; second++) {
    await sleep(1_000, undefined, { signal });
    await progress(`${second} of ${seconds} seconds`);
  }
  if (fail) throw new Error(fail);
  return { greeting: `Hello, ${name}!` };
}

// The addresses to talk to, handed over by the agent that started this worker

const key = requiredEnv("RUNPOD_AI_API_KEY");
const workerId = requiredEnv("RUNPOD_POD_ID");
const takeUrl = requiredEnv("RUNPOD_WEBHOOK_GET_JOB").replace("$ID", workerId);
const stopUrl = takeUrl.replace("/job-take/", "/job-stop/");
const outputUrl = requiredEnv("RUNPOD_WEBHOOK_POST_OUTPUT").replace("$RUNPOD_POD_ID", workerId);
const pingUrl = process.env.RUNPOD_WEBHOOK_PING?.replace("$RUNPOD_POD_ID", workerId);
const pingIntervalMs = Number(process.env.RUNPOD_PING_INTERVAL ?? 10_000);
/** Longer than any poll is held. */
const CALL_LIMIT_MS = 90_000;

let isLeaving = false;
const over = new AbortController();
/** The job in hand, if any: its id, and how to stop it. */
let current;
/** The take that waits for an answer, if any. */
let openTake;

// Calling the agent

/** A connection serves one call after the other. */
const connections = new Agent({ keepAlive: true });

/** One call, and its answer: the status, and the body as text. */
function call(url, { method = "GET", body = "", signal } = {}) {
  const headers = { authorization: key, "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent: connections, signal, timeout: CALL_LIMIT_MS };
    const calling = request(url, options, (reply) => {
      const parts = [];
      reply.on("data", (part) => parts.push(part)).on("error", reject);
      reply.on("end", () => resolve({ status: reply.statusCode, text: Buffer.concat(parts).toString() }));
    });
    calling.on("timeout", () => calling.destroy(new Error("no answer in time"))).on("error", reject);
    calling.end(body);
  });
}

// Asking for jobs

async function takeJobs() {
  while (!isLeaving) {
    const job = await takeJob();
    if (job) await run(job);
  }
}

/** Holds one long poll; answers a job, or undefined when there is none. */
async function takeJob() {
  const take = new AbortController();
  try {
    openTake = take;
    const reply = await call(`${takeUrl}&job_in_progress=0`, { signal: take.signal });
    // From here on the job is ours, and leaving must wait for it.
    openTake = undefined;
    if (reply.status === 200) return JSON.parse(reply.text);
    if (reply.status !== 204) await sleep(1_000);
  } catch (error) {
    if (isLeaving) return;
    log(`the agent does not answer: ${error.message}`);
    await sleep(1_000);
  }
}

// Running one

async function run(job) {
  const stopping = new AbortController();
  current = { id: job.id, stop: () => stopping.abort() };
  log(`job ${job.id} begins`);
  const result = await resultOf(job, stopping.signal);
  // A stopped job gets no result: the edge has already recorded its end.
  if (!stopping.signal.aborted) await post(job.id, result);
  log(`job ${job.id} ${stopping.signal.aborted ? "was stopped" : result.error ? "failed" : "completed"}`);
  current = undefined;
}

async function resultOf(job, signal) {
  const progress = (value) => post(job.id, { status: "IN_PROGRESS", output: value });
  try {
    return { output: await greet(job.input ?? {}, { progress, signal }) };
  } catch (error) {
    return { error: JSON.stringify({ error_type: error.name, error_message: error.message }) };
  }
}

/** Posts a result or progress; a result must not get lost on a hiccup of the agent. */
async function post(jobId, body) {
  const url = `${outputUrl.replace("$ID", jobId)}&isStream=false`;
  const result = { method: "POST", body: JSON.stringify(body) };
  for (let waitMs = 250; waitMs <= 16_000; waitMs *= 2) {
    const reply = await call(url, result).catch(() => undefined);
    if (reply && reply.status < 500) return;
    await sleep(waitMs);
  }
  log(`job ${jobId}: the agent did not accept the result`);
}

// Stopping, pinging, leaving

/** Asks which jobs to stop, all the time: one poll serves many short jobs. */
async function watchStops() {
  while (!over.signal.aborted) {
    try {
      const reply = await call(stopUrl, { signal: over.signal });
      const stops = reply.status === 200 ? JSON.parse(reply.text).jobsToStop : [];
      if (stops.includes(current?.id)) current?.stop();
      // A poll that was held brings an id, of no job at worst; one that was not must not become a hot loop.
      if (stops.length === 0) await sleep(1_000, undefined, { signal: over.signal });
    } catch {
      if (!over.signal.aborted) await sleep(1_000);
    }
  }
}

function ping() {
  const held = current ? `&job_id=${current.id}` : "";
  call(pingUrl + held).catch(() => {});
}

function leave() {
  log(current ? "leaving after this job" : "leaving");
  isLeaving = true;
  openTake?.abort();
}

function requiredEnv(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set: this worker is started by an Edgerun agent, see README.md`);
  process.exit(1);
}

function log(line) {
  console.log(line);
}

process.on("SIGTERM", leave);
process.on("SIGINT", leave);
const pinging = pingUrl && setInterval(ping, pingIntervalMs);
log(`worker ${workerId} is ready`);
void watchStops();
await takeJobs();
clearInterval(pinging);
over.abort();
