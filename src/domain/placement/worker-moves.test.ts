import fc from "fast-check";
import { describe, test } from "vitest";
import {
  detailWithMoves,
  type FailingWorker,
  movesAfter,
  shouldMove,
  MOVE_FORGIVEN_MS,
  MOVE_PAUSES_MS,
} from "./worker-moves.ts";

const MINUTE = 60_000;
const failing = (times: number, since = 0): FailingWorker => ({
  hostId: "h1",
  state: "crash_looping",
  detail: "exited with code 7",
  failing: { times, since },
  moves: null,
});

describe("a worker that fails", () => {
  test("stays on its host for its first failures", ({ expect }) => {
    expect(shouldMove(failing(4), MINUTE)).toBe(false);
    expect(shouldMove({ ...failing(4), failing: null }, MINUTE)).toBe(false);
  });

  test("shall move after five in a row, though not in the first minute", ({ expect }) => {
    expect(shouldMove(failing(5), MINUTE - 1)).toBe(false);
    expect(shouldMove(failing(5), MINUTE)).toBe(true);
  });

  test("shall move after two when they took long, as when it never asks for a job", ({ expect }) => {
    expect(shouldMove(failing(2), 10 * MINUTE)).toBe(true);
    expect(shouldMove(failing(1), 10 * MINUTE)).toBe(false);
  });

  test("does not move while it runs, or when it is being removed", ({ expect }) => {
    expect(shouldMove({ ...failing(9), state: "ready" }, MINUTE)).toBe(false);
    expect(shouldMove({ ...failing(9), state: "stopping" }, MINUTE)).toBe(false);
  });

  test("moves twice, the second time after a longer pause, and then stays", ({ expect }) => {
    const second = { ...failing(9), hostId: "h2", moves: movesAfter(failing(9), 0) };
    expect(shouldMove(second, 9 * MINUTE)).toBe(false);
    expect(shouldMove(second, 10 * MINUTE)).toBe(true);
    const third = { ...failing(99), hostId: "h3", moves: movesAfter(second, 0) };
    expect(third.moves).toMatchObject({ count: 2, hostIds: ["h1", "h2"] });
    expect(shouldMove(third, 60 * MINUTE)).toBe(false);
    expect(detailWithMoves(third)).toMatch(/^exited with code 7\..* 2 .*exited with code 7\./);
    expect(shouldMove({ ...third, failing: { times: 9, since: 0 } }, MOVE_FORGIVEN_MS)).toBe(true);
  });

  test("visits only so many hosts in any time before it is forgiven", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(fc.nat(30 * MINUTE), { maxLength: 100 }), (steps) => {
        let [worker, now, moved] = [failing(9), 0, 0];
        for (const step of steps) {
          now += step;
          if (now >= MOVE_FORGIVEN_MS) break;
          if (!shouldMove(worker, now)) continue;
          moved += 1;
          worker = { ...failing(9, now), hostId: `h${moved + 1}`, moves: movesAfter(worker, now) };
        }
        expect(moved).toBeLessThanOrEqual(MOVE_PAUSES_MS.length);
      }),
    );
  });
});
