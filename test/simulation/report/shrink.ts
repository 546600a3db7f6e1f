/** The smallest history that still goes wrong: faults, clients, hosts and operations are taken away one by one. */
import { ALIKE, type HistoryPlan } from "../history/plan.ts";

/** Names of the numbers that a plan has. */
type Numeric = { [K in keyof HistoryPlan]: HistoryPlan[K] extends number ? K : never }[keyof HistoryPlan];

/** Of times, less is not simpler. */
const TIME = Number.POSITIVE_INFINITY;
/** Counts and shares of which less is simpler, with the least of each. */
const LEAST: Readonly<Record<Numeric, number>> = {
  clientCount: 1,
  operationCount: 1,
  workersMax: 1,
  workersMin: 0,
  jobsPerWorker: 1,
  hooked: 0,
  streaming: 0,
  large: 0,
  lowPriority: 0,
  abandoning: 0,
  flooding: 0,
  containerDiskGb: TIME,
  paceMs: TIME,
  handlerMs: TIME,
  startMs: TIME,
  executionTimeoutMs: TIME,
  idleTimeoutS: TIME,
  scalerValue: TIME,
};

/** Smaller plans, those that take the most away first. */
function* smallerThan(plan: HistoryPlan): Generator<HistoryPlan> {
  for (const fault of plan.faults.keys()) {
    const faults = new Map(plan.faults);
    faults.delete(fault);
    yield { ...plan, faults };
  }
  if (plan.hostGpus.length > 1) yield { ...plan, ...ALIKE, hostGpus: plan.hostGpus.slice(0, 1) };
  if (plan.hostKinds.length > 0) yield { ...plan, ...ALIKE };
  if (plan.endpointGpus.length > 1) yield { ...plan, endpointGpus: plan.endpointGpus.slice(0, 1) };
  for (const [name, value] of Object.entries(plan)) if (value === true) yield { ...plan, [name]: false };
  for (const [name, least] of Object.entries(LEAST)) {
    const value = plan[name as Numeric];
    if (value > least) yield { ...plan, [name]: least };
    for (const less of [Math.floor(value / 2), value - 1])
      if (Number.isInteger(value) && less > least) yield { ...plan, [name]: less };
  }
}

/** Ends with a plan of which no smaller one goes wrong. */
export async function shrink(
  plan: HistoryPlan,
  goesWrong: (plan: HistoryPlan) => Promise<boolean>,
): Promise<HistoryPlan> {
  for (const smaller of smallerThan(plan)) {
    if (await goesWrong(smaller)) return await shrink(smaller, goesWrong);
  }
  return plan;
}

/** One line for a plan. */
export function describePlan({ faults, hostGpus, hostKinds, endpointGpus, ...rest }: HistoryPlan): string {
  const habits = Object.entries(rest).filter(([, value]) => value !== false && value !== 0);
  const hosts = hostKinds.map(({ models, cpuCount, memoryMb, diskMb }) => {
    const names = models.map(({ name }) => name).join(" and ");
    return `a host with ${names}, ${cpuCount} CPUs, ${memoryMb} MB of memory and ${diskMb} MB of disk`;
  });
  return [
    `hosts with ${hostGpus.join(", ")} GPUs; workers with ${endpointGpus.join(", ")}`,
    ...hosts,
    ...habits.map(([name, value]) => (value === true ? name : `${name} ${String(value)}`)),
    ...[...faults].map(([fault, rate]) => `${fault} ${rate}`),
  ].join("; ");
}
