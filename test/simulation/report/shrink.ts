/** The smallest history that still goes wrong: faults, clients, hosts and operations are taken away one by one. */
import type { HistoryPlan } from "../history/plan.ts";

/** Smaller plans, those that take the most away first. */
function* smallerThan(plan: HistoryPlan): Generator<HistoryPlan> {
  for (const fault of plan.faults.keys()) {
    const faults = new Map(plan.faults);
    faults.delete(fault);
    yield { ...plan, faults };
  }
  if (plan.clientCount > 1) yield { ...plan, clientCount: 1 };
  if (plan.hostGpus.length > 1) yield { ...plan, hostGpus: plan.hostGpus.slice(0, 1) };
  if (plan.endpointGpus.length > 1) yield { ...plan, endpointGpus: plan.endpointGpus.slice(0, 1) };
  if (plan.operationCount > 1) yield { ...plan, operationCount: Math.floor(plan.operationCount / 2) };
  if (plan.operationCount > 1) yield { ...plan, operationCount: plan.operationCount - 1 };
  if (plan.abandoning > 0) yield { ...plan, abandoning: 0 };
  if (plan.flooding > 0) yield { ...plan, flooding: 0 };
  if (plan.workersMax > 1) yield { ...plan, workersMax: 1 };
  for (const habit of [
    "isPurging",
    "hasBatches",
    "hasOpenai",
    "isManaged",
    "hasPolicies",
    "isRetrying",
    "isBursting",
    "hasSecondAccount",
    "hasDeletions",
    "hasHostChanges",
    "hasKeys",
    "hasFlashBoot",
    "hasLogs",
    "hasSockets",
    "hasCommands",
    "hasPodRequests",
  ] as const)
    if (plan[habit]) yield { ...plan, [habit]: false };
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
export function describePlan({ faults, hostGpus, endpointGpus, ...rest }: HistoryPlan): string {
  const habits = Object.entries(rest).filter(([, value]) => value !== false && value !== 0);
  return [
    `hosts with ${hostGpus.join(", ")} GPUs; workers with ${endpointGpus.join(", ")}`,
    ...habits.map(([name, value]) => (value === true ? name : `${name} ${String(value)}`)),
    ...[...faults].map(([fault, rate]) => `${fault} ${rate}`),
  ].join("; ");
}
