import { describe, test, vi } from "vitest";
import { SILENT_LOG } from "../core/log.ts";
import { UnclaimedContainers } from "./unclaimed-containers.ts";

/** A runtime whose removals fail that often. */
function fixture(failures: number) {
  let left = failures;
  const removed: string[] = [];
  const onRemoved = vi.fn<() => void>();
  const stopping = new AbortController();
  const containers = new UnclaimedContainers({
    runtime: {
      remove: async (workerId) => {
        left -= 1;
        if (left >= 0) throw new Error("The daemon does not answer.");
        removed.push(workerId);
      },
    },
    log: SILENT_LOG,
    retry: { baseMs: 1, capMs: 1 },
    signal: stopping.signal,
    onRemoved,
  });
  return { containers, removed, onRemoved, stopping };
}

const running = { workerId: "w1", isRunning: true, gpuIndexes: [1] };

describe("containers that nobody claims", () => {
  test("are removed at once where the runtime does so", async ({ expect }) => {
    const { containers, removed } = fixture(0);
    await containers.discard([running]);
    expect(removed).toEqual(["w1"]);
    expect(containers.holderOf([1])).toBeUndefined();
  });

  test("hold their GPUs until a later removal succeeds", async ({ expect }) => {
    const { containers, removed, onRemoved } = fixture(3);
    await containers.discard([running]);
    expect(containers.holderOf([0, 1])).toBe("w1");
    expect(containers.holderOf([0])).toBeUndefined();
    await vi.waitFor(() => expect(onRemoved).toHaveBeenCalledOnce());
    expect(removed).toEqual(["w1"]);
    expect(containers.holderOf([1])).toBeUndefined();
  });

  test("hold any GPU when no record says which, and none when they do not run", async ({ expect }) => {
    const { containers, stopping } = fixture(Infinity);
    await containers.discard([{ ...running, isRunning: false, gpuIndexes: null }]);
    expect(containers.holderOf([7])).toBeUndefined();
    await containers.discard([{ ...running, gpuIndexes: null }]);
    expect(containers.holderOf([7])).toBe("w1");
    expect(containers.holderOf([])).toBeUndefined();
    stopping.abort();
  });
});
