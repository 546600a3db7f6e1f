import fc from "fast-check";
import { describe, test } from "vitest";
import { chooseWorker, type Candidate, type Preference } from "./balancer.ts";

const workers: fc.Arbitrary<Candidate[]> = fc.uniqueArray(
  fc.record({
    workerId: fc.constantFrom("a", "b", "c", "d", "e"),
    inFlight: fc.nat(3),
    usedAt: fc.nat(3),
    isSuspect: fc.boolean(),
    isOutdated: fc.boolean(),
  }),
  { selector: ({ workerId }) => workerId },
);
const preference: fc.Arbitrary<Preference> = fc.record({
  mode: fc.constantFrom("soft" as const, "strict" as const, "resume" as const),
  workerId: fc.constantFrom("a", "b", "c", "d", "e"),
});

describe("the worker for a request", () => {
  test("is one of those there are, and there is one whenever nobody is asked for strictly", () => {
    fc.assert(
      fc.property(workers, fc.option(preference), (candidates, asked) => {
        const chosen = chooseWorker(candidates, asked);
        if (chosen) return candidates.includes(chosen);
        return candidates.length === 0 || (asked !== null && asked.mode !== "soft");
      }),
    );
  });

  test("is the one asked for if it takes requests; if that was strict, no other", () => {
    fc.assert(
      fc.property(workers, preference, (candidates, asked) => {
        const isThere = candidates.some(({ workerId }) => workerId === asked.workerId);
        const chosen = chooseWorker(candidates, asked);
        if (isThere) return chosen?.workerId === asked.workerId;
        return asked.mode === "soft" || chosen === undefined;
      }),
    );
  });

  test("is suspect or of an older release only if all are", () => {
    fc.assert(
      fc.property(workers, (candidates) => {
        const chosen = chooseWorker(candidates, null);
        const isFine = ({ isSuspect, isOutdated }: Candidate) => !isSuspect && !isOutdated;
        return !chosen || isFine(chosen) || !candidates.some(isFine);
      }),
    );
  });

  test("is never suspect while there is an older one that is not", () => {
    fc.assert(
      fc.property(workers, (candidates) => {
        const chosen = chooseWorker(candidates, null);
        return !chosen?.isSuspect || candidates.every(({ isSuspect }) => isSuspect);
      }),
    );
  });

  test("has no more requests than any equal, and was used last of those with as few", () => {
    fc.assert(
      fc.property(workers, (candidates) => {
        const chosen = chooseWorker(candidates, null);
        if (!chosen) return true;
        const equals = candidates.filter(
          (other) => other.isSuspect === chosen.isSuspect && other.isOutdated === chosen.isOutdated,
        );
        return equals.every(
          ({ inFlight, usedAt }) =>
            inFlight > chosen.inFlight || (inFlight === chosen.inFlight && usedAt <= chosen.usedAt),
        );
      }),
    );
  });

  test("changes with each request, so that all workers have as many", ({ expect }) => {
    const inFlight = new Map(["a", "b", "c"].map((workerId) => [workerId, 0]));
    for (let turn = 1; turn <= 9; turn += 1) {
      const candidates = [...inFlight].map(([workerId, count]) => ({
        workerId,
        inFlight: count,
        usedAt: 0,
        isSuspect: false,
        isOutdated: false,
      }));
      const chosen = chooseWorker(candidates, null);
      if (chosen) inFlight.set(chosen.workerId, chosen.inFlight + 1);
    }
    expect([...inFlight.values()]).toEqual([3, 3, 3]);
  });
});
