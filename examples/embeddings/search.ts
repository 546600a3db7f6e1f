/**
 * Searches a book by meaning, with one job per paragraph on an embeddings endpoint.
 *
 *   node examples/embeddings/search.ts --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID
 *
 * Embeds every paragraph of Newton's Opticks through run and status, some of them again through runSync,
 * checks each answer, then asks five questions. Exits with 1 when an answer is not what it must be.
 *
 *   --every 4      only each fourth paragraph, beside those that answer the questions
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import runpodSdk from "runpod-sdk";

const DIMENSIONS = 384;
const AT_ONCE = 32;
const POLL_INTERVAL_MS = 200;
/** More than a cold start and a job take. */
const JOB_LIMIT_MS = 300_000;
/** Two hosts may round differently in the last digits. */
const TOLERANCE = 1e-4;
/** How many paragraphs are embedded a second time. */
const REPEATED = 16;

/** Questions in today's words, and the paragraph that answers each. */
const QUESTIONS = [
  { text: "What makes a muscle move when the mind wills it?", answer: "p211" },
  { text: "How do salts form crystals when a solution dries up?", answer: "p225" },
  { text: "Can matter turn into light and light into matter?", answer: "p224" },
  { text: "How does the optic nerve carry what the eye sees to the brain?", answer: "p205" },
  { text: "What colour do metals take when heated?", answer: "p118" },
] as const;

type Paragraph = { readonly id: string; readonly text: string };
type Embedded = Paragraph & { readonly vector: readonly number[] };
type Timing = { readonly delayTime: number; readonly executionTime: number; readonly workerId: string };
type Job = Timing & { readonly output: unknown };

const { endpoint, every } = readFlags();
const source: { paragraphs: Paragraph[] } = JSON.parse(
  await readFile(new URL("paragraphs.json", import.meta.url), "utf8"),
);
const paragraphs = source.paragraphs.filter(
  ({ id }, index) => index % every === 0 || QUESTIONS.some(({ answer }) => answer === id),
);
const timings: Timing[] = [];
const startedAt = performance.now();

const embedded = await eachOf(paragraphs, async (paragraph) => ({
  ...paragraph,
  vector: vectorOf(paragraph.id, await runAndPoll(paragraph.text)),
}));
report(`${embedded.length} paragraphs through run and status`, timings.splice(0));

const repeatedAt = performance.now();
await eachOf(embedded.slice(0, REPEATED), async ({ id, text, vector }) => {
  const again = vectorOf(id, await runSync(text));
  const difference = Math.max(...again.map((value, index) => Math.abs(value - (vector[index] ?? NaN))));
  if (!(difference < TOLERANCE)) fail(`${id}: the same text gave another vector (difference ${difference})`);
});
report(`${timings.length} paragraphs again through runSync`, timings.splice(0), repeatedAt);

const ranked = await eachOf(QUESTIONS, async ({ text, answer }) => {
  const question = vectorOf(text, await runSync(text));
  return { text, answer, best: closest(question, embedded) };
});
for (const { text, best } of ranked) {
  print(`\n? ${text}\n  ${best.id} (${best.similarity.toFixed(3)}) ${best.text.slice(0, 180)}…`);
}
const wrong = ranked.filter(({ answer, best }) => best.id !== answer);
for (const { text, answer, best } of wrong) fail(`"${text}" found ${best.id} instead of ${answer}`);
print(`\nall ${QUESTIONS.length} questions found their paragraph, ${secondsSince(startedAt)} s in all`);

// Jobs

async function runAndPoll(text: string): Promise<Job> {
  const { id } = await endpoint.run({ input: { text } });
  for (let waitedMs = 0; waitedMs < JOB_LIMIT_MS; waitedMs += POLL_INTERVAL_MS) {
    const status = await endpoint.status(id);
    if ("completed" in status && status.completed === true) return completedJob(id, status);
    await sleep(POLL_INTERVAL_MS);
  }
  return fail(`job ${id} is not over after ${JOB_LIMIT_MS / 1000} s`);
}

async function runSync(text: string): Promise<Job> {
  const reply = await endpoint.runSync({ input: { text } });
  return completedJob(reply.id, reply);
}

function completedJob(id: string, body: object): Job {
  const job = body as Partial<Job> & { status?: string };
  if (job.status !== "COMPLETED") fail(`job ${id} ended ${job.status}: ${JSON.stringify(body)}`);
  const { output, delayTime, executionTime, workerId } = job;
  if (typeof delayTime !== "number" || typeof executionTime !== "number" || typeof workerId !== "string") {
    fail(`job ${id} lacks delayTime, executionTime or workerId: ${Object.keys(body).join(", ")}`);
  }
  timings.push({ delayTime, executionTime, workerId });
  return { output, delayTime, executionTime, workerId };
}

// Vectors

/** The vector of an answer, if it is one: 384 numbers, length one. */
function vectorOf(what: string, { output }: Job): readonly number[] {
  const { embedding, dimensions } = (output ?? {}) as { embedding?: unknown; dimensions?: unknown };
  if (dimensions !== DIMENSIONS || !isVector(embedding)) fail(`${what}: no vector of ${DIMENSIONS} numbers`);
  const length = Math.sqrt(dot(embedding, embedding));
  if (Math.abs(length - 1) > TOLERANCE) fail(`${what}: the vector has length ${length}, not 1`);
  return embedding;
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) && value.length === DIMENSIONS && value.every((entry) => Number.isFinite(entry))
  );
}

function closest(question: readonly number[], among: readonly Embedded[]): Embedded & { similarity: number } {
  const scored = among.map((paragraph) => ({ ...paragraph, similarity: dot(question, paragraph.vector) }));
  return scored.reduce((best, next) => (next.similarity > best.similarity ? next : best));
}

/** For vectors of length one this is the cosine of the angle between them. */
function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

// Around it

/** Like Promise.all over the list, with at most AT_ONCE under way. */
async function eachOf<In, Out>(list: readonly In[], use: (entry: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  const entries = list.entries();
  const senders = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, entry] of entries) results[index] = await use(entry);
  });
  await Promise.all(senders);
  return results;
}

function readFlags() {
  const { values } = parseArgs({
    options: {
      "base-url": { type: "string", default: "http://127.0.0.1:8787/v2" },
      "api-key": { type: "string" },
      endpoint: { type: "string" },
      every: { type: "string", default: "1" },
    },
  });
  const { "base-url": baseUrl, "api-key": apiKey, endpoint: id } = values;
  if (apiKey === undefined || id === undefined) fail("--api-key and --endpoint are needed");
  const endpoint = runpodSdk(apiKey, { baseUrl }).endpoint(id) ?? fail("--endpoint is empty");
  return { endpoint, every: Number(values.every) };
}

function report(what: string, of: readonly Timing[], since = startedAt): void {
  const workers = new Set(of.map(({ workerId }) => workerId)).size;
  print(`${what}: ${secondsSince(since)} s on ${workers} worker(s)`);
  for (const field of ["delayTime", "executionTime"] as const) {
    const sorted = of.map((timing) => timing[field]).sort((a, b) => a - b);
    const at = (share: number): string => String(sorted[Math.ceil(share * sorted.length) - 1]).padStart(7);
    print(`  ${field.padEnd(14)} median ${at(0.5)} ms   95% ${at(0.95)} ms   max ${at(1)} ms`);
  }
}

function secondsSince(at: number): string {
  return ((performance.now() - at) / 1000).toFixed(1);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
