import fc from "fast-check";
import { test } from "vitest";
import { planWorkers } from "./fleet-plan.ts";

const worker = fc.record({
  workerId: fc.uuid(),
  version: fc.constantFrom(1, 2),
  isDrained: fc.boolean(),
});
const workers = fc.uniqueArray(worker, { maxLength: 10, selector: ({ workerId }) => workerId });

test("outdated workers and those on drained hosts go, missing ones come, and of too many nobody is chosen here", () => {
  fc.assert(
    fc.property(workers, fc.nat(12), (given, wanted) => {
      const { retire, add } = planWorkers(given, wanted, 2);
      const current = given.filter(({ version, isDrained }) => version === 2 && !isDrained).length;
      return retire.length === given.length - current && add === Math.max(0, wanted - current);
    }),
  );
});
