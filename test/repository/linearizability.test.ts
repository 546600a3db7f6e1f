import { describe, test } from "vitest";
import { isLinearizable, type JobCall } from "../simulation/history/linearizability.ts";

const call = (kind: JobCall["kind"], sentAt: number, at: number, status: string | null): JobCall => ({
  kind,
  sentAt,
  answer: { at, status },
});
const lost = (kind: JobCall["kind"], sentAt: number): JobCall => ({ kind, sentAt, answer: null });

describe("calls about a job", () => {
  test.for<[string, readonly JobCall[], boolean]>([
    ["a final state that stays", [call("read", 0, 1, "COMPLETED"), call("read", 2, 3, "COMPLETED")], true],
    ["a final state that is left", [call("read", 0, 1, "COMPLETED"), call("read", 2, 3, "IN_QUEUE")], false],
    [
      "reads at the same time, in either order",
      [call("read", 0, 5, "COMPLETED"), call("read", 1, 4, "IN_QUEUE")],
      true,
    ],
    ["a job that is queued again", [call("read", 0, 1, "IN_PROGRESS"), call("read", 2, 3, "IN_QUEUE")], true],
    ["cancelled by a call without an answer", [lost("cancel", 0), call("read", 9, 10, "CANCELLED")], true],
    ["cancelled before the call was made", [call("read", 0, 1, "CANCELLED"), lost("cancel", 2)], false],
    [
      "a cancellation that is answered and not seen",
      [call("cancel", 0, 1, "CANCELLED"), call("read", 2, 3, "COMPLETED")],
      false,
    ],
    [
      "a retry",
      [call("read", 0, 1, "FAILED"), call("retry", 2, 3, "IN_QUEUE"), call("read", 4, 5, "COMPLETED")],
      true,
    ],
    [
      "a retry of what is complete",
      [call("read", 0, 1, "COMPLETED"), call("retry", 2, 3, "IN_QUEUE")],
      false,
    ],
    [
      "a retry that was refused though it failed",
      [call("read", 0, 1, "FAILED"), call("retry", 2, 3, null)],
      false,
    ],
    [
      "failed, then complete without a retry",
      [call("read", 0, 1, "FAILED"), call("read", 2, 3, "COMPLETED")],
      false,
    ],
  ])("%s", ([, calls, expected], { expect }) => {
    expect(isLinearizable(calls)).toBe(expected);
  });

  test.for([60, 200])("%i, of which many were made at once", (count, { expect }) => {
    const calls = Array.from({ length: count }, (_, index) => {
      const sentAt = 3 * index;
      return index % 9 === 0 ? lost("purge", sentAt) : call("read", sentAt, sentAt + 20, "IN_QUEUE");
    });
    const [end, later] = [3 * count + 20, 3 * count + 30];
    const ended = [...calls, call("read", end, end + 1, "COMPLETED")];
    expect(isLinearizable(ended)).toBe(true);
    expect(isLinearizable([...ended, call("read", later, later + 1, "IN_QUEUE")])).toBe(false);
  });
});
