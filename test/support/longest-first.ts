/** The order of test files: the long ones first, so that none of them runs alone at the end. */
import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longer than half a minute on two cores, the longest first. */
const LONGEST = [
  "start",
  "isolation",
  "real-clients",
  "python-sdk",
  "flash",
  "flash-app",
  "scenarios",
  "flash-deploy",
  "build-dependencies",
  "sdk-workers",
  "docker-faults",
  "hostile-container",
  "runtime-docker",
  "streams",
  "kills",
  "python-wheel",
  "build-survival",
  "serving-containers",
  "rate-limits",
  "queue-model",
  "rolling-release",
  "volumes",
  "large-payloads",
  "disk-faults",
  "host-faults",
  "load-balancing",
  "load-balancing-faults",
  "client-examples",
  "logs",
  "agent-logs",
  "rows",
  "fleet",
  "operations-table-states",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.indexOf(basename(moduleId, ".test.ts"));
  return place < 0 ? LONGEST.length : place;
}
