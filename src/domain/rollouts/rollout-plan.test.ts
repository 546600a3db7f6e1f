import { describe, test } from "vitest";
import { planRollout, type RolloutSnapshot, type RolloutWorker } from "./rollout-plan.ts";

const NEW = 2;
let ids = 0;
function worker(fields: Partial<RolloutWorker> = {}): RolloutWorker {
  ids += 1;
  const free = { isReady: true, jobs: 0, isDraining: false, freeSinceAt: ids, isBroken: false };
  return { workerId: `w${ids}`, version: 1, ...free, ...fields };
}
const ready = () => worker({ version: NEW });
const starting = () => worker({ version: NEW, isReady: false });
const busy = (fields: Partial<RolloutWorker> = {}) => worker({ jobs: 1, ...fields });

function plan(workers: readonly RolloutWorker[], step: Partial<RolloutSnapshot> = {}) {
  const usual = {
    version: NEW,
    desired: 3,
    workersMax: 3,
    evictionSets: [],
    canEvict: true,
    isOnHold: false,
  };
  return planRollout({ ...usual, workers, ...step });
}
const idOf = ({ workerId }: RolloutWorker) => workerId;

describe("with room for one more", () => {
  test("no worker is removed before a new one is ready", ({ expect }) => {
    const step = plan([worker(), worker(), worker(), starting()]);
    expect(step).toMatchObject({ leaving: [], draining: [], onHold: [] });
  });

  test("for each ready worker one is removed: one without jobs, of several the longest free", ({
    expect,
  }) => {
    const [late, early] = [worker({ freeSinceAt: 9_000 }), worker({ freeSinceAt: 8_000 })];
    expect(plan([busy(), late, early, ready()]).leaving).toEqual([idOf(early)]);
  });

  test("when all are busy, one gets no more jobs, and the first to be free may be removed in its place", ({
    expect,
  }) => {
    const old = [busy({ jobs: 2 }), busy(), busy()];
    const step = plan([...old, ready()]);
    expect(step).toMatchObject({ leaving: [], draining: [old[1]].map((one) => one && idOf(one)) });
    expect(step.either).toEqual({ count: 1, among: new Set(old.map(idOf)) });
  });

  test("a draining worker is not exchanged for another that is as busy", ({ expect }) => {
    const chosen = busy({ isDraining: true });
    expect(plan([busy(), busy(), chosen, ready()]).draining).toEqual([idOf(chosen)]);
  });

  test("one that was never ready is removed at once, and one that fails with a job after that job", ({
    expect,
  }) => {
    const never = worker({ isReady: false });
    const failing = busy({ isReady: false });
    const step = plan([worker(), never, failing]);
    expect(step).toMatchObject({ leaving: [idOf(never)], draining: [idOf(failing)] });
  });

  test("of two older versions the oldest is removed first", ({ expect }) => {
    const older = worker({ version: 0 });
    expect(plan([worker(), worker(), older, ready()]).leaving).toEqual([idOf(older)]);
  });
});

describe("without room", () => {
  const three = () => [busy(), worker(), busy()] as const;

  test("one whose removal frees a place is evicted, the first to be free", ({ expect }) => {
    const [a, b, c] = three();
    const evictionSets = [a, b, c].map((one) => [idOf(one)]);
    expect(plan([a, b, c], { evictionSets: evictionSets })).toMatchObject({
      leaving: [idOf(b)],
      evicts: true,
    });
    expect(plan([a, b, c], { evictionSets: [[idOf(a)]] })).toMatchObject({
      leaving: [],
      draining: [idOf(a)],
    });
  });

  test("no worker is evicted when that would not help, when capacity is coming, or while a new worker starts", ({
    expect,
  }) => {
    const [a, b, c] = three();
    const evictionSets = [[idOf(b)]];
    const unnamed = { leaving: [], draining: [] };
    expect(plan([a, b, c])).toMatchObject(unnamed);
    expect(plan([a, b, c], { evictionSets: evictionSets, canEvict: false })).toMatchObject(unnamed);
    expect(plan([a, b, c, starting()], { evictionSets: evictionSets })).toMatchObject(unnamed);
  });

  test("two that must be evicted together are evicted when both have no job", ({ expect }) => {
    const [a, b, c] = three();
    const evictionSets = [[idOf(a), idOf(b)]];
    expect(plan([a, b, c], { evictionSets: evictionSets })).toMatchObject({
      leaving: [],
      draining: [idOf(a), idOf(b)],
    });
    const free = { ...a, jobs: 0 };
    expect(plan([free, b, c], { evictionSets: evictionSets }).leaving.toSorted()).toEqual(
      [idOf(a), idOf(b)].toSorted(),
    );
  });
});

test("held workers stay and get no jobs", ({ expect }) => {
  const old = [worker(), worker()];
  expect(plan([...old, starting()], { desired: 2, isOnHold: true })).toMatchObject({
    leaving: [],
    onHold: old.map(idOf),
  });
});

test("when no workers are allowed all are removed, the busy ones after their jobs", ({ expect }) => {
  const [idle, working, coming] = [worker(), busy(), starting()];
  const step = plan([idle, working, coming], { desired: 0, workersMax: 0 });
  expect(step).toMatchObject({ leaving: [idOf(idle), idOf(coming)], draining: [idOf(working)] });
});

test("the scaler counts serving workers, and all of the new version once no older one is retained", ({
  expect,
}) => {
  const [old, next, last] = [worker(), ready(), starting()];
  expect(plan([old, next, last], { desired: 2 }).rest).toEqual([old, next]);
  expect(plan([old, next, last], { desired: 1 }).rest).toEqual([next]);
});
