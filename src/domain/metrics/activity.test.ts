import fc from "fast-check";
import { describe, test } from "vitest";
import type { ColdStart } from "../jobs/cold-start.ts";
import { Activity, spansOf, sumOf, type ActivitySegment } from "./activity.ts";
import { isSameGauges, gaugesBy, ZERO_GAUGES } from "./gauges.ts";

const MINUTE = 60_000;
const FROM = 1_000 * MINUTE;
const MINUTES = 12;

const idle = (count: number) => gaugesBy((name) => (name === "idle" ? count : 0));
const moment = fc.integer({ min: FROM, max: FROM + MINUTES * MINUTE - 1 });
const ends = fc.array(fc.record({ at: moment, delay: fc.nat(10_000) }), { maxLength: 40 });
const changes = fc
  .array(fc.record({ at: moment, count: fc.nat(5) }), { maxLength: 20 })
  .map((list) => list.toSorted((a, b) => a.at - b.at));

/** A cold start of which Docker took half; none for those that hardly waited. */
function startOf(totalMs: number): ColdStart | null {
  const container = Math.floor(totalMs / 2);
  const none = { placement: 0, image: 0, files: 0, model: 0, handler: 0 };
  return totalMs < 1_000 ? null : { totalMs, parts: { ...none, container, runtime: totalMs - container } };
}

/** Minutes as the endpoint's object keeps them: only those in which something happened. */
function minutesOf(
  list: readonly { at: number; delay: number }[],
  levels: readonly { at: number; count: number }[],
) {
  const minutes = new Map<number, Activity>();
  let present = ZERO_GAUGES;
  const minuteOf = (at: number) => {
    const from = Math.floor(at / MINUTE) * MINUTE;
    const minute = minutes.get(from) ?? Activity.begin(from, present);
    minutes.set(from, minute);
    return minute;
  };
  const events = [
    ...list.map((end) => ({ ...end, count: null })),
    ...levels.map((change) => ({ ...change, delay: 0 })),
  ];
  for (const { at, delay, count } of events.toSorted((a, b) => a.at - b.at)) {
    if (count === null) minuteOf(at).recordEnd("completed", { delay, execution: null }, startOf(delay));
    else if (!isSameGauges(present, idle(count))) {
      minuteOf(at).gauges.set(idle(count), at);
      present = idle(count);
    }
  }
  const parts: ActivitySegment[] = [...minutes.values()].map((activity) => ({ activity, lengthMs: MINUTE }));
  return { parts, present };
}

/** Levels times ms, added up change by change. */
function exactArea(levels: readonly { at: number; count: number }[], until: number): number {
  return levels.reduce((sum, { at, count }, index) => {
    const end = Math.min(levels[index + 1]?.at ?? until, until);
    return sum + count * Math.max(0, end - at);
  }, 0);
}

describe("activity", () => {
  test("of many minutes adds theirs up, with levels weighted by duration", ({ expect }) => {
    fc.assert(
      fc.property(ends, changes, fc.nat(MINUTE), (list, levels, late) => {
        const now = FROM + MINUTES * MINUTE + late;
        const { parts, present } = minutesOf(list, levels);
        const grid = { from: FROM, stepMs: MINUTE, count: MINUTES + 1 };
        const sum = sumOf(spansOf(parts, grid, present, now), MINUTE, now);
        expect(sum.counts.completed).toBe(list.length);
        expect(sum.times.delay.sum).toBe(list.reduce((total, { delay }) => total + delay, 0));
        const starts = list.flatMap(({ delay }) => startOf(delay) ?? []);
        expect(sum.times.coldStart.count).toBe(starts.length);
        for (const part of ["container", "runtime", "image"] as const) {
          const partMs = starts.reduce((total, { parts: { [part]: ms } }) => total + ms, 0);
          expect(sum.coldStartParts.get(part)?.sum ?? 0).toBe(partMs);
        }
        expect(sum.gauges.areasUntil(now).idle).toBe(exactArea(levels, now));
      }),
    );
  });

  test("of hours equals that of their minutes", ({ expect }) => {
    fc.assert(
      fc.property(ends, changes, (list, levels) => {
        const now = FROM + 2 * MINUTES * MINUTE;
        const { parts, present } = minutesOf(list, levels);
        const wide = { from: FROM, stepMs: 4 * MINUTE, count: 3 };
        const folded = spansOf(parts, wide, present, now).map((activity) => ({
          activity: Activity.from(structuredClone(activity.toRecord())),
          lengthMs: wide.stepMs,
        }));
        const end = FROM + MINUTES * MINUTE;
        const all = { from: FROM, stepMs: MINUTES * MINUTE, count: 1 };
        const [ofHours] = spansOf(folded, all, present, now);
        const [ofMinutes] = spansOf(parts, all, present, now);
        expect(ofHours?.counts).toEqual(ofMinutes?.counts);
        expect(ofHours?.times.delay.toRecord()).toEqual(ofMinutes?.times.delay.toRecord());
        expect(ofHours?.toRecord().coldStartParts).toEqual(ofMinutes?.toRecord().coldStartParts);
        expect(ofHours?.gauges.areasUntil(end)).toEqual(ofMinutes?.gauges.areasUntil(end));
        expect(ofHours?.gauges.max).toEqual(ofMinutes?.gauges.max);
      }),
    );
  });

  test("without any part has the present levels", ({ expect }) => {
    const [span] = spansOf([], { from: FROM, stepMs: MINUTE, count: 1 }, idle(3), FROM + MINUTE);
    expect(span?.gauges.areasUntil(FROM + MINUTE).idle).toBe(3 * MINUTE);
  });
});
