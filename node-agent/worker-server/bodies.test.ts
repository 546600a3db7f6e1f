import { describe, test } from "vitest";
import { BodyBudget, type Reservation } from "./bodies.ts";

/** A budget of 100 bytes, of which one worker may hold 40; notes who was admitted. */
function budget() {
  const bodies = new BodyBudget(100, 40);
  const admitted: string[] = [];
  const reserve = async (name: string, bytes: number, signal = new AbortController().signal) => {
    const [workerId = "", jobId = ""] = name.split("/");
    const reservation = await bodies.reserve({ workerId, jobId }, bytes, () => signal);
    if (reservation) admitted.push(name);
    return reservation;
  };
  return { reserve, admitted };
}

/** Everything that can happen by now has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const end = async (reserved: Promise<Reservation | undefined>) => {
  (await reserved)?.[Symbol.dispose]();
  await settled();
};

describe("bodies of workers", () => {
  test("of one job are read one after the other, as they came", async ({ expect }) => {
    const { reserve, admitted } = budget();
    const first = reserve("w/1", 10);
    void reserve("w/1", 11);
    void reserve("w/1", 12);
    void reserve("w/2", 10);
    await settled();
    expect(admitted).toEqual(["w/1", "w/2"]);
    await end(first);
    expect(admitted).toEqual(["w/1", "w/2", "w/1"]);
  });

  test("of one worker take no more than its share, and others pass", async ({ expect }) => {
    const { reserve, admitted } = budget();
    const first = reserve("w/1", 30);
    void reserve("w/2", 30);
    void reserve("other/1", 40);
    await settled();
    expect(admitted).toEqual(["w/1", "other/1"]);
    await end(first);
    expect(admitted).toEqual(["w/1", "other/1", "w/2"]);
  });

  test("wait for the budget in their order, so that a large one is read at all", async ({ expect }) => {
    const { reserve, admitted } = budget();
    const held = ["a", "b"].map((worker) => reserve(`${worker}/1`, 40));
    void reserve("large/1", 40);
    void reserve("small/1", 10);
    await settled();
    expect(admitted).toEqual(["a/1", "b/1"]);
    await end(held[0] ?? Promise.resolve(undefined));
    expect(admitted).toEqual(["a/1", "b/1", "large/1", "small/1"]);
  });

  test("whose sender has gone wait no longer, and give back what they hold once", async ({ expect }) => {
    const { reserve, admitted } = budget();
    const held = ["a", "b"].map((worker) => reserve(`${worker}/1`, 40));
    const gone = new AbortController();
    const waiting = reserve("c/1", 40, gone.signal);
    void reserve("d/1", 20);
    gone.abort();
    expect(await waiting).toBeUndefined();
    await settled();
    expect(admitted).toEqual(["a/1", "b/1", "d/1"]);
    await end(held[0] ?? Promise.resolve(undefined));
    await end(held[0] ?? Promise.resolve(undefined));
    void reserve("e/1", 40);
    void reserve("f/1", 1);
    await settled();
    expect(admitted).toEqual(["a/1", "b/1", "d/1", "e/1"]);
  });

  test("that announce more than a share take the share: the rest of them is not kept", async ({ expect }) => {
    const { reserve, admitted } = budget();
    void reserve("w/1", 1_000_000);
    await settled();
    expect(admitted).toEqual(["w/1"]);
  });
});
