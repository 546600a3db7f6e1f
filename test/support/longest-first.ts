/** The order of test files: the long ones first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files of each project that take longest on two cores, in this order; by their path below test/. */
const LONGEST = [
  "e2e/openapi-fuzz",
  "e2e/real-clients",
  "e2e/model-workers",
  "e2e/load-balancing",
  "e2e/flash-preview",
  "e2e/containers",
  "e2e/docker-faults",
  "e2e/start",
  "e2e/flash-dev",
  "e2e/flash-deploy",
  "e2e/sdk-workers",
  "e2e/large-payloads",
  "e2e/docs",
  "e2e/kills",
  "e2e/install",
  "e2e/flash",
  "e2e/flash-app",
  "e2e/python-workers",
  "e2e/edge-kills",
  "e2e/load-balancing-faults",
  "e2e/disk-faults",
  "e2e/logs",
  "e2e/host-faults",
  "e2e/exact-payloads",
  "e2e/edge-memory",
  "e2e/webhooks",
  "e2e/secrets",
  "cli/python-sdk",
  "cli/python-sdk-workers",
  "cli/migrate",
  "cli/deploy-scenarios",
  "cli/scenarios",
  "cli/build-dependencies",
  "cli/live-session",
  "cli/local-edge",
  "cli/undeploy",
  "cli/build-survival",
  "agent/hostile-container",
  "agent/agent-jobs",
  "agent/runtime-docker",
  "agent/agent-containers",
  "agent/runtime-limits",
  "agent/agent-logs",
  "agent/pods-containers",
  "agent/serving-containers",
  "agent/serving-workers",
  "agent/agent-disk",
  "agent/tunnels-docker",
  "repository/simulation",
  "repository/text-time",
  "workers/webhooks",
  "workers/stream",
  "workers/operations-table-input",
  "workers/operations-table-states",
  "workers/isolation",
  "workers/rows",
  "workers/queue-model",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b));
  }
}

/** The projects whose files come after those of all others, in this order. */
const LATER = ["cli", "agent", "repository", "workers", "unit"];

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
