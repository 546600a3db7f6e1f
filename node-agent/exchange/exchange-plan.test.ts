import { describe, test } from "vitest";
import {
  areSameSlots,
  batchReports,
  boundProgress,
  type OpenTurn,
  longPollSlots,
  immediateSlots,
} from "./exchange-plan.ts";

const slot = (workerId: string, free = 1) => ({ workerId, free });
const holding = (turn: number, ...slots: OpenTurn["slots"]): OpenTurn => ({ turn, isLongPoll: true, slots });
const immediate = (turn: number, ...slots: OpenTurn["slots"]): OpenTurn => ({
  turn,
  isLongPoll: false,
  slots,
});

describe("the slots of an exchange", () => {
  test("are all free ones when it holds, also those that an older hold offers", ({ expect }) => {
    expect(longPollSlots([slot("a"), slot("b", 2)], [holding(1, slot("a"))])).toEqual([
      slot("a"),
      slot("b", 2),
    ]);
  });

  test("leave out what an immediate exchange offers", ({ expect }) => {
    expect(longPollSlots([slot("a"), slot("b", 2)], [immediate(2, slot("b", 1))])).toEqual([
      slot("a"),
      slot("b", 1),
    ]);
  });

  test("are only the newly free ones when it is immediate", ({ expect }) => {
    expect(immediateSlots([slot("a"), slot("b")], [holding(1, slot("a"))])).toEqual([slot("b")]);
    expect(immediateSlots([slot("a")], [holding(1), immediate(2, slot("a"))])).toEqual([]);
  });

  test("count the newest hold alone, because the edge answers the older ones", ({ expect }) => {
    const open = [holding(1, slot("a"), slot("b")), holding(2, slot("a"))];
    expect(immediateSlots([slot("a"), slot("b")], open)).toEqual([slot("b")]);
  });

  test("are compared without regard to their order", ({ expect }) => {
    expect(areSameSlots([slot("a"), slot("b")], [slot("b"), slot("a")])).toBe(true);
    expect(areSameSlots([slot("a")], [slot("a", 2)])).toBe(false);
    expect(areSameSlots([slot("a")], [])).toBe(false);
  });
});

describe("the reports of an exchange", () => {
  const report = (sizeBytes: number) => ({ body: "x".repeat(sizeBytes) });

  test("go together while they are small", ({ expect }) => {
    expect(batchReports([report(10), report(20)])).toHaveLength(2);
  });

  test("go alone when they are large", ({ expect }) => {
    expect(batchReports([report(9_000_000), report(1)])).toHaveLength(1);
    expect(batchReports([report(1), report(9_000_000)])).toHaveLength(1);
  });

  test("are never more than one exchange may carry", ({ expect }) => {
    expect(batchReports(Array.from({ length: 1_500 }, () => report(1)))).toHaveLength(1_000);
  });
});

describe("the progress of held jobs", () => {
  const held = (jobId: string, length: number) => ({
    body: JSON.stringify({ jobId }),
    progress: length > 0 ? `"${"é".repeat(length / 2 - 1)}"` : undefined,
  });
  const idsWithProgress = (turn: number, ...jobs: ReturnType<typeof held>[]) =>
    boundProgress(jobs, turn)
      .map((json) => JSON.parse(json) as { jobId: string; progress?: string })
      .filter(({ progress }) => progress !== undefined)
      .map(({ jobId }) => jobId);

  test("goes whole while it is small, and every job is held in any case", ({ expect }) => {
    expect(idsWithProgress(7, held("a", 10), held("b", 0), held("c", 10))).toEqual(["a", "c"]);
    expect(boundProgress([held("a", 3_000_000)], 1)).toEqual(['{"jobId":"a"}']);
    expect(boundProgress([], 1)).toEqual([]);
  });

  test("takes turns when it is more than one exchange may carry, in bytes", ({ expect }) => {
    const jobs = ["a", "b", "c"].map((id) => held(id, 1_200_000));
    expect([3, 4, 5].map((turn) => idsWithProgress(turn, ...jobs))).toEqual([["a"], ["b"], ["c"]]);
  });
});
