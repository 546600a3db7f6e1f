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

/** A smaller plan, and what it takes away: another one that takes away the same has the same name. */
type Smaller = { readonly name: string; readonly plan: HistoryPlan };

/** Those that take the most away come first. */
function* smallerThan(plan: HistoryPlan): Generator<Smaller> {
  for (const fault of plan.faults.keys()) {
    const faults = new Map(plan.faults);
    faults.delete(fault);
    yield { name: fault, plan: { ...plan, faults } };
  }
  if (plan.hostGpus.length > 1)
    yield { name: "hosts", plan: { ...plan, ...ALIKE, hostGpus: plan.hostGpus.slice(0, 1) } };
  if (plan.hostKinds.length > 0) yield { name: "kinds", plan: { ...plan, ...ALIKE } };
  if (plan.endpointGpus.length > 1)
    yield { name: "endpoints", plan: { ...plan, endpointGpus: plan.endpointGpus.slice(0, 1) } };
  for (const [name, value] of Object.entries(plan))
    if (value === true) yield { name, plan: { ...plan, [name]: false } };
  for (const [name, least] of Object.entries(LEAST)) {
    const value = plan[name as Numeric];
    for (const less of new Set([least, Math.floor(value / 2), value - 1]))
      if (less === least ? value > least : Number.isInteger(value) && less > least)
        yield { name: `${name} ${less}`, plan: { ...plan, [name]: less } };
  }
}

/** Ends with a plan of which no smaller one goes wrong. */
export async function shrink(
  plan: HistoryPlan,
  goesWrong: (plan: HistoryPlan) => Promise<boolean>,
): Promise<HistoryPlan> {
  let smallest = plan;
  for (;;) {
    const smaller = await shrinkOnce(smallest, goesWrong);
    if (smaller === smallest) return smallest;
    smallest = smaller; // what was needed before may not be needed any more
  }
}

/** Takes away whatever can go, each thing tried once. */
async function shrinkOnce(
  plan: HistoryPlan,
  goesWrong: (plan: HistoryPlan) => Promise<boolean>,
): Promise<HistoryPlan> {
  const needed = new Set<string>();
  let smallest = plan;
  for (;;) {
    const next = [...smallerThan(smallest)].find(({ name }) => !needed.has(name));
    if (!next) return smallest;
    if (await goesWrong(next.plan)) smallest = next.plan;
    else needed.add(next.name);
  }
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
