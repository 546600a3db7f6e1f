/**
 * A worker that speaks the worker protocol as the Python SDK does, quirks included. What its handler does
 * is chosen by the input of each job:
 *
 *   mock_return V        returns V                          mock_delay S        waits S seconds first
 *   mock_until F         waits until the file F is there
 *   mock_error T         fails with the text T              mock_error_value V  posts V, whatever it is, as error
 *   mock_progress [..]   posts each as progress             mock_late_progress  posts one after the result
 *   mock_stream [..]     yields each as a chunk             mock_refresh        asks for a fresh container
 *   mock_stream_pause S  waits S seconds after each chunk   mock_stream_size N  yields N bytes of text at once
 *   mock_stream_rest [..] yields more, once the file mock_until_rest is there
 *   mock_stream_times N   yields the time of each yield, N times
 *   mock_crash C         the process exits with code C      mock_unserialisable nothing is ever posted
 *   mock_never           waits until it is stopped          mock_block          never ends, cannot be stopped
 *   mock_deaf F          waits until the file F is there, and cannot be stopped meanwhile
 *   mock_member M        returns the member M of the job itself, such as batchId
 *   mock_env_hash N      returns the SHA-256 of the environment variable N, in hex
 *   mock_print [..]      prints each as a line, before anything else
 *   mock_print_count N   prints N lines more, `line 1` and so on
 *   mock_print_then [..] prints each after mock_until, then waits for mock_until_rest
 *   mock_env N           returns the environment variable N
 *   mock_write {file, text}  writes a file                  mock_read F         returns the text of the file F
 *   mock_fill N          writes a file of N bytes first
 *   mock_size N          returns N bytes of text            mock_twice          posts its result twice
 *   mock_output_size N   with mock_error: returns N bytes of text besides
 *   mock_post_and_crash C  posts its result and exits with code C (1 for true) at once
 *   mock_stop_to A       tells the address A, which ends in "?", its job and the moment when it is stopped
 *
 * With MOCK_RAW nothing is parsed: the text of each input is posted as progress, yielded as a chunk, and returned,
 * in a list behind the text of the job's s3Config where it has one; a job whose input begins with ["fail once" fails
 * the first time, one with ["until", F waits for the file F between.
 *
 * Environment: MOCK_GENERATOR (yields each element of mock_return, mock_delay seconds before each), MOCK_DELAY
 * (mock_delay where the input has none), MOCK_CONCURRENCY, MOCK_LOOK_MS (pause at full concurrency; the SDK's is
 * 1 s), MOCK_PINGS (off, or process: from a child process, as the SDK does), MOCK_EXIT_AT_START, MOCK_NEVER_TAKE,
 * MOCK_UNHEALTHY, MOCK_IGNORE_SIGTERM, MOCK_STDERR_LINE, MOCK_FAIL (the error of every job), MOCK_RECORD (a file to which a line of JSON is added when a
 * handler begins and when it ends).
 */
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const env = process.env;
const takeUrl = (env.RUNPOD_WEBHOOK_GET_JOB ?? "").replace("$ID", env.RUNPOD_POD_ID ?? "");
const headers = { authorization: env.RUNPOD_AI_API_KEY ?? "", "content-type": "application/json" };
const concurrency = Number(env.MOCK_CONCURRENCY ?? 1);
const lookMs = Number(env.MOCK_LOOK_MS ?? 20);
const pingMs = Number(env.RUNPOD_PING_INTERVAL ?? 10_000);

/** The moment on the clock of the machine, finer than a millisecond. */
const now = () => performance.timeOrigin + performance.now();

/** Job id to what stops its handler. */
const running = new Map();
let isShutDown = false;
let pings;

// Results

const post = (template, jobId, body, isStream) => postText(template, jobId, JSON.stringify(body), isStream);

async function postText(template, jobId, body, isStream = false) {
  const url = `${template.replace("$ID", jobId)}&isStream=${isStream}`;
  try {
    // Raw JSON under a form content type; only a 5xx is worth another try: as the SDK does.
    for (const pauseMs of [2_000, 3_000, 0]) {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/x-www-form-urlencoded", charset: "utf-8" },
        body,
      });
      await response.text();
      if (response.status < 500) return;
      await delay(pauseMs);
    }
  } catch (error) {
    console.log(`Failed to return job results. | ${String(error)}`);
  }
}

const done = (jobId, body, isStream) => post(env.RUNPOD_WEBHOOK_POST_OUTPUT, jobId, body, isStream);
const chunk = (jobId, output) => post(env.RUNPOD_WEBHOOK_POST_STREAM, jobId, { output });
const progress = (jobId, output) => done(jobId, { status: "IN_PROGRESS", output });

// The handler

async function isThere(file, signal) {
  while (!existsSync(file)) await delay(20, undefined, { signal });
}

async function handle(job, signal) {
  const input = job.input ?? {};
  for (const line of input.mock_print ?? []) console.log(line);
  if (input.mock_print_count) await printLines(input.mock_print_count);
  if (env.MOCK_GENERATOR) return generate(job.id, input, signal);
  if (input.mock_fill) fill("/tmp/full", input.mock_fill);
  if (input.mock_write) writeFileSync(input.mock_write.file, input.mock_write.text);
  if (input.mock_read) return { output: readFileSync(input.mock_read, "utf8") };
  const delayMs = Number(input.mock_delay ?? env.MOCK_DELAY ?? 0) * 1_000;
  if (delayMs) await delay(delayMs, undefined, { signal });
  if (input.mock_until) await isThere(input.mock_until, signal);
  if (input.mock_print_then) {
    for (const line of input.mock_print_then) console.log(line);
    if (input.mock_until_rest) await isThere(input.mock_until_rest, signal);
  }
  for (const value of input.mock_progress ?? []) await progress(job.id, value);
  if ("mock_crash" in input) {
    process.stderr.write("the handler crashes now\n");
    process.exit(Number.isInteger(input.mock_crash) ? input.mock_crash : 1);
  }
  if (input.mock_never) await delay(2 ** 31 - 1, undefined, { signal });
  if (input.mock_deaf) await isThere(input.mock_deaf);
  if (input.mock_block) await new Promise(() => setInterval(() => {}, 60_000));
  if (input.mock_unserialisable) return undefined;
  if (env.MOCK_FAIL) return { error: env.MOCK_FAIL };
  if ("mock_error" in input) {
    const size = input.mock_output_size;
    return { error: input.mock_error, ...(size && { output: "x".repeat(size) }) };
  }
  if ("mock_error_value" in input) return { error: input.mock_error_value };
  if (input.mock_stream) {
    for (const value of input.mock_stream) {
      await chunk(job.id, value);
      if (input.mock_stream_pause) await delay(input.mock_stream_pause * 1_000, undefined, { signal });
    }
    for (let count = 0; count < (input.mock_stream_times ?? 0); count += 1) {
      await chunk(job.id, now());
      await delay((input.mock_stream_pause ?? 0) * 1_000, undefined, { signal });
    }
    if (input.mock_until_rest) await isThere(input.mock_until_rest, signal);
    for (const value of input.mock_stream_rest ?? []) await chunk(job.id, value);
    if (input.mock_stream_size) await chunk(job.id, "x".repeat(input.mock_stream_size));
    return { output: [] };
  }
  if (input.mock_env_hash)
    return {
      output: createHash("sha256")
        .update(env[input.mock_env_hash] ?? "")
        .digest("hex"),
    };
  if (input.mock_env) return { output: env[input.mock_env] ?? null };
  if (input.mock_member) return { output: job[input.mock_member] };
  if (input.mock_size) return { output: "x".repeat(input.mock_size) };
  const result = { output: "mock_return" in input ? input.mock_return : input };
  return input.mock_refresh ? { ...result, stopPod: true } : result;
}

function fill(file, bytes) {
  const part = Buffer.alloc(50_000_000);
  for (let written = 0; written < bytes; written += part.length) appendFileSync(file, part);
}

/** Waits for the reader, as a program does that writes to a pipe. */
async function printLines(count) {
  for (let from = 1; from <= count; from += 1_000) {
    const lines = Array.from(
      { length: Math.min(1_000, count - from + 1) },
      (_, index) => `line ${from + index}`,
    );
    if (!process.stdout.write(`${lines.join("\n")}\n`)) await once(process.stdout, "drain");
  }
}

async function generate(jobId, input, signal) {
  for (const value of [input.mock_return ?? "Hello World!"].flat()) {
    await delay(Number(input.mock_delay ?? env.MOCK_DELAY ?? 0) * 1_000, undefined, { signal });
    await chunk(jobId, value);
  }
  return { output: [] };
}

function record(event, jobId) {
  if (!env.MOCK_RECORD) return;
  const line = {
    event,
    jobId,
    workerId: env.RUNPOD_POD_ID,
    pid: process.pid,
    directory: process.cwd(),
    at: now(),
  };
  appendFileSync(env.MOCK_RECORD, `${JSON.stringify(line)}\n`);
}

async function run(job) {
  const stop = new AbortController();
  record("begins", job.id);
  running.set(job.id, stop);
  reportPings();
  if (job.input?.mock_stop_to) {
    const report = () => void fetch(`${job.input.mock_stop_to}job=${job.id}&at=${now()}`).catch(() => {});
    stop.signal.addEventListener("abort", report);
  }
  try {
    const body = await handle(job, stop.signal);
    const input = job.input ?? {};
    if (input.mock_post_and_crash) {
      void done(job.id, body).then(() => process.exit(Number(input.mock_post_and_crash)));
    }
    if (body !== undefined) await done(job.id, body, Boolean(input.mock_stream));
    if (input.mock_twice) await done(job.id, { output: "the second result" });
    if (input.mock_late_progress) await progress(job.id, "late");
  } catch (error) {
    if (!stop.signal.aborted) await done(job.id, { error: String(error) });
  } finally {
    record("ends", job.id);
    running.delete(job.id);
    reportPings();
  }
}

// The loops

async function takeJobs() {
  while (!isShutDown) {
    const free = concurrency - running.size;
    if (free <= 0) {
      await delay(lookMs);
      continue;
    }
    const base =
      free === 1 ? takeUrl : takeUrl.replace("/job-take/", "/job-take-batch/") + `&batch_size=${free}`;
    const jobs = await ask(`${base}&job_in_progress=${running.size > 0 ? 1 : 0}`);
    for (const job of Array.isArray(jobs) ? jobs : jobs ? [jobs] : []) void run(job);
  }
}

const CHUNK_MAX_BYTES = 1_000_000;

async function echoTexts() {
  const failed = new Set();
  while (!isShutDown) {
    const text = await askForText(`${takeUrl}&job_in_progress=0`);
    if (!text) continue;
    const { 1: jobId } = /^\{"id":"([^"]+)"/.exec(text);
    const input = text.slice(text.indexOf(',"input":') + ',"input":'.length, -1);
    const [, config] = /,"s3Config":(.*)$/s.exec(text.slice(0, text.indexOf(',"input":'))) ?? [];
    const result = { output: `{"output":${config ? `[${config},${input}]` : input}}` };
    if (input.startsWith('["fail once"') && !failed.has(jobId)) result.output = '{"error":"once"}';
    failed.add(jobId);
    await postText(env.RUNPOD_WEBHOOK_POST_OUTPUT, jobId, `{"status":"IN_PROGRESS","output":${input}}`);
    if (input.startsWith('["until"')) await isThere(JSON.parse(input)[1]);
    if (Buffer.byteLength(input) <= CHUNK_MAX_BYTES)
      await postText(env.RUNPOD_WEBHOOK_POST_STREAM, jobId, `{"output":${input}}`);
    await postText(env.RUNPOD_WEBHOOK_POST_OUTPUT, jobId, result.output);
  }
}

async function watchStops() {
  while (!isShutDown) {
    const told = await ask(takeUrl.replace("/job-take/", "/job-stop/"));
    for (const jobId of told?.jobsToStop ?? []) running.get(jobId)?.abort();
    if (!told) await delay(1_000);
  }
}

async function ask(url) {
  const text = await askForText(url);
  return text && JSON.parse(text);
}

async function askForText(url) {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(90_000) });
    const text = await response.text();
    return response.status === 200 ? text : undefined;
  } catch {
    await delay(50); // nobody there; the SDK would ask again at once
    return undefined;
  }
}

// Pings

async function pingLoop() {
  let jobIds = "";
  process.on("message", (ids) => (jobIds = ids));
  for (;;) {
    const query = jobIds === "" ? "" : `&job_id=${jobIds}`;
    await fetch(`${env.RUNPOD_WEBHOOK_PING}${query}&runpod_version=1.12.0`, { headers }).catch(() => {});
    await delay(pingMs);
  }
}

function reportPings() {
  pings?.send([...running.keys()].join(","));
}

// Start

async function main() {
  if (env.MOCK_STDERR_LINE) console.error(env.MOCK_STDERR_LINE);
  if (env.MOCK_EXIT_AT_START) process.exit(Number(env.MOCK_EXIT_AT_START));
  if (env.MOCK_UNHEALTHY) {
    const query = `&status=unhealthy&check=disk&reason=${encodeURIComponent(env.MOCK_UNHEALTHY)}`;
    await fetch(`${env.RUNPOD_WEBHOOK_PING}${query}`, { headers });
    process.exit(1);
  }
  process.on("SIGTERM", () => {
    if (!env.MOCK_IGNORE_SIGTERM) isShutDown = true;
  });
  if (env.MOCK_PINGS === "process") pings = fork(fileURLToPath(import.meta.url), ["--pings"]);
  if (env.MOCK_NEVER_TAKE) return void setInterval(() => {}, 60_000);
  await Promise.all([env.MOCK_RAW ? echoTexts() : takeJobs(), watchStops()]);
  while (running.size > 0) await delay(10);
  process.exit(0);
}

await (process.argv.includes("--pings") ? pingLoop() : main());
