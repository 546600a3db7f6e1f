/** Loads of endpoints that share GPUs, what has to hold of what becomes of them, and what is of interest in it. */
import type { Random } from "../world/random.ts";
import type { EndpointLoad, JobRun, Outcome, Scenario } from "./shared-gpus.ts";

export type NamedScenario = {
  readonly name: string;
  readonly of: (random: Random, length: number) => Scenario;
  /** What is wrong with the outcome. */
  readonly check: (outcome: Outcome) => readonly string[];
};

const MINUTE_MS = 60_000;
const SCALING = `workersMin: 0, workersMax: 4, idleTimeout: 600, scalerType: "REQUEST_COUNT", scalerValue: 1`;
const WEIGHTS: Readonly<Record<string, number>> = { a: 3, b: 1, c: 1 };
const SHARE_TOLERANCE = 0.05;

/** `length` times as long as in the tests. */
export const SCENARIOS: readonly NamedScenario[] = [
  {
    name: "one GPU, three endpoints, a job of one after the other",
    of: (_, length) => ({
      gpuCount: 1,
      startMs: 500,
      durationMs: (5 * length + 1) * MINUTE_MS,
      endpoints: ["a", "b", "c"].map((name, index) => ({
        name,
        settings: SCALING,
        handlerMs: 2_000,
        jobsAt: Array.from({ length: 10 * length }, (_, round) => (round * 3 + index) * 10_000),
      })),
    }),
    check: ({ jobs }) => {
      const waiting = jobs.filter(({ beganAt }) => beganAt === null);
      return waiting.length > 0 ? [`${waiting.length} jobs never began`] : [];
    },
  },
  {
    name: "one GPU, three endpoints, always jobs, weights 3:1:1",
    of: (_, length) => ({
      gpuCount: 1,
      startMs: 500,
      durationMs: 15 * length * MINUTE_MS,
      endpoints: Object.entries(WEIGHTS).map(([name, weight]) => ({
        name,
        settings: `${SCALING}, shareWeight: ${weight}`,
        handlerMs: 2_000,
        jobsAt: Array.from({ length: 500 * length }, (_, job) => job * 100),
      })),
    }),
    check: ({ gpuMs }) => {
      const shares = sharesOf(gpuMs);
      const expected = sharesOf(new Map(Object.entries(WEIGHTS)));
      return [...expected].flatMap(([name, share]) => {
        const seen = shares.get(name) ?? 0;
        return Math.abs(seen - share) < SHARE_TOLERANCE ? [] : [`${name} had ${percent(seen)} of the GPU`];
      });
    },
  },
  {
    name: "four GPUs, eight endpoints, bursts of jobs",
    of: (random, length) => ({
      gpuCount: 4,
      startMs: 4_000,
      durationMs: 10 * length * MINUTE_MS,
      endpoints: Array.from({ length: 8 }, (_, index) => burstyLoad(random, index, 10 * length * MINUTE_MS)),
    }),
    check: () => [],
  },
];

/** Bursts of some jobs each, and pauses that are longer. */
function burstyLoad(random: Random, index: number, durationMs: number): EndpointLoad {
  const handlerMs = random.pick([1_000, 3_000, 10_000]);
  const jobsAt: number[] = [];
  for (let at = random.delay(MINUTE_MS); at < durationMs; at += random.delay(3 * MINUTE_MS))
    for (let left = random.whole(1, 8); left > 0; left -= 1) jobsAt.push(at + random.delay(5_000));
  const settings = SCALING.replace("idleTimeout: 600", "idleTimeout: 120");
  return { name: `e${index}`, settings, handlerMs, jobsAt };
}

/** A line for each endpoint, and one for all. */
export function summarize(
  { jobs, gpuMs, starts, reasons }: Outcome,
  { gpuCount, durationMs }: Scenario,
): string {
  const shares = sharesOf(gpuMs);
  const allMs = executedMs(jobs);
  const all = [...Map.groupBy(jobs, ({ endpoint }) => endpoint)].toSorted(([a], [b]) => a.localeCompare(b));
  const lines = all.map(
    ([name, own]) =>
      `  ${name}: ${describeWaits(own)}; ${percent(shares.get(name) ?? 0)} of the GPU time, ` +
      `${percent(executedMs(own) / allMs)} of the execution`,
  );
  const use = percent(allMs / (gpuCount * durationMs));
  const seen = [...reasons].toSorted().join(", ");
  return [
    ...lines,
    `  all: ${describeWaits(jobs)}; GPUs execute ${use} of the time, ${starts} starts (${seen})`,
  ].join("\n");
}

function describeWaits(jobs: readonly JobRun[]): string {
  const waits = jobs
    .flatMap(({ submittedAt, beganAt }) => (beganAt === null ? [] : [beganAt - submittedAt]))
    .toSorted((a, b) => a - b);
  const at = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  const [median, high, most] = [at(0.5), at(0.99), at(1)].map((ms) => `${(ms / 1_000).toFixed(2)} s`);
  return `${waits.length} of ${jobs.length} jobs began, after p50 ${median}, p99 ${high}, at most ${most}`;
}

function executedMs(jobs: readonly JobRun[]): number {
  const times = jobs.map(({ beganAt, endedAt }) =>
    beganAt === null || endedAt === null ? 0 : endedAt - beganAt,
  );
  return times.reduce((sum, ms) => sum + ms, 0);
}

function sharesOf(amounts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const total = [...amounts.values()].reduce((sum, amount) => sum + amount, 0);
  return new Map([...amounts].map(([name, amount]) => [name, amount / total]));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
