/** The order of test files: the long ones first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longer than half a minute on two cores, the longest first; by their path below test/. */
const LONGEST = [
  "cli/python-sdk-workers",
  "cli/python-sdk",
  "e2e/start",
  "e2e/real-clients",
  "cli/build-dependencies",
  "cli/deploy-scenarios",
  "cli/scenarios",
  "e2e/flash",
  "e2e/flash-app",
  "e2e/flash-deploy",
  "e2e/flash-preview",
  "e2e/flash-dev",
  "agent/hostile-container",
  "agent/runtime-docker",
  "e2e/sdk-workers",
  "e2e/docker-faults",
  "agent/serving-containers",
  "e2e/kills",
  "e2e/edge-kills",
  "e2e/model-workers",
  "e2e/large-payloads",
  "cli/build-survival",
  "e2e/python-workers",
  "e2e/install",
  "e2e/rollout",
  "cli/python-wheel",
  "e2e/bad-workers",
  "agent/agent-containers",
  "e2e/fuzz",
  "cli/build",
  "e2e/webhooks",
  "e2e/logs",
  "e2e/host-faults",
  "e2e/load-balancing-faults",
  "e2e/disk-faults",
  "agent/runtime-limits",
  "e2e/volumes",
  "e2e/load-balancing",
  "agent/agent-logs",
  "agent/agent-restart",
  "workers/isolation",
  "workers/rate-limits",
  "workers/rows",
  "workers/operations-table-states",
  "workers/webhooks",
  "workers/queue-model",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b));
  }
}

/** The projects whose files come after those of all others, in this order. */
const LATER = ["cli", "agent", "workers", "repository", "unit"];

/**
 * The files of a project follow each other: a process that has run one of them takes the next one only if it is of the
 * same project. A new one loads all modules again, and a runtime with the whole edge in it takes seconds to make.
 */
function groupOf({ project }: TestSpecification): number {
  return LATER.indexOf(project.name);
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((path) => moduleId.endsWith(`/test/${path}.test.ts`));
  return place < 0 ? LONGEST.length : place;
}
