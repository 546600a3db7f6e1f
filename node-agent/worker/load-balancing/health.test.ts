import fc from "fast-check";
import { describe, test } from "vitest";
import {
  type Health,
  applyProbe,
  type ProbeAnswer,
  probePauseMs,
  UNPROBED,
  HEALTH_FAILURES_MAX,
  HEALTH_PROBE_EAGER_FOR_MS,
} from "./health.ts";

const status = (code: number): ProbeAnswer => ({ kind: "status", status: code });
const after = (answers: readonly ProbeAnswer[], first = UNPROBED): Health =>
  answers.reduce(applyProbe, first);
const failure: fc.Arbitrary<ProbeAnswer> = fc.oneof(
  fc
    .integer({ min: 100, max: 599 })
    .filter((code) => code !== 200 && code !== 204)
    .map(status),
  fc.constantFrom<ProbeAnswer>(
    { kind: "refused", port: 80 },
    { kind: "timeout" },
    { kind: "broken", reason: "" },
  ),
);
const refused: ProbeAnswer = { kind: "refused", port: 80 };
const isRefused = ({ kind }: ProbeAnswer) => kind === "refused";
/** The answers, of which none is a 200, end the health of a worker. */
const hasClosed = (all: readonly ProbeAnswer[]) =>
  all.length >= HEALTH_FAILURES_MAX ||
  all.some((one) => isRefused(one) || (one.kind === "status" && one.status === 204));
const answers = fc.array(fc.oneof(failure, fc.constantFrom(status(200), status(204))));

describe("the health of a worker", () => {
  test("is good after a 200, whatever came before, and never after a 204", ({ expect }) => {
    fc.assert(
      fc.property(answers, (before) => {
        expect(after([...before, status(200)])).toMatchObject({ isHealthy: true, wasHealthy: true });
        expect(after([...before, status(204)])).toMatchObject({ isHealthy: false, failuresInRow: 0 });
      }),
    );
  });

  test("stays healthy after a 200 while few failures and no refused connection followed it", ({ expect }) => {
    fc.assert(
      fc.property(answers, (all) => {
        const last200 = all.findLastIndex((one) => one.kind === "status" && one.status === 200);
        const isGood = last200 >= 0 && !hasClosed(all.slice(last200 + 1));
        expect(after(all).isHealthy).toBe(isGood);
        expect(after(all).wasHealthy).toBe(last200 >= 0);
      }),
    );
  });

  test("is lost for certain only if there was one, by failures in a row or by the worker's own word", ({
    expect,
  }) => {
    fc.assert(
      fc.property(answers, (all) => {
        const { isDown, wasHealthy, isHealthy, answer } = after(all);
        if (isDown) expect(wasHealthy && !isHealthy).toBe(true);
        else expect(isHealthy || !wasHealthy || all.some(isRefused)).toBe(true);
        if (answer && isRefused(answer)) expect(isHealthy).toBe(false);
      }),
    );
    expect(after([status(200), refused])).toMatchObject({ isHealthy: false, isDown: false });
    expect(after([status(200), refused, status(500)])).toMatchObject({ isHealthy: false, isDown: false });
    expect(after([status(200), refused, refused, refused])).toMatchObject({ isHealthy: false, isDown: true });
    const adopted = { ...UNPROBED, wasHealthy: true };
    expect(after([status(500)], adopted).isDown).toBe(false);
    expect(after([status(500), status(500), status(500)], adopted).isDown).toBe(true);
  });
});

test("probes often at the beginning and after a refused connection, and rarely while healthy", ({
  expect,
}) => {
  const pauses = { healthProbeMs: 5_000, healthProbeStartMs: 1_000 };
  const pause = (all: readonly ProbeAnswer[], probedForMs: number) =>
    probePauseMs(after(all), probedForMs, pauses);
  expect(pause([refused], 0)).toBe(100);
  expect(pause([status(204)], HEALTH_PROBE_EAGER_FOR_MS - 1)).toBe(100);
  expect(pause([status(204)], HEALTH_PROBE_EAGER_FOR_MS)).toBe(1_000);
  expect(pause([status(200)], 0)).toBe(5_000);
  expect(pause([status(200), status(500)], 0)).toBe(5_000);
  expect(pause([status(200), refused], 60_000)).toBe(100);
  expect(pause([status(200), refused, refused, refused], 60_000)).toBe(1_000);
  expect(pause([status(200), status(204)], 0)).toBe(1_000);
});
