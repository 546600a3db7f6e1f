import { describe, test } from "vitest";
import { RequestSlots } from "./request-slots.ts";

const NOW = 1_800_000_000_000;

/** Slots with one request that was admitted and moved outside as "a". */
function withMovedOutside(): RequestSlots {
  const slots = new RequestSlots();
  slots.enter();
  slots.moveOutside("a", NOW);
  return slots;
}

describe("a request has one slot", () => {
  test("while it goes from the object to a wake-up channel and back, until its last call ends", ({
    expect,
  }) => {
    const slots = new RequestSlots();
    const isFull = () => slots.isFull(1, NOW);
    const steps = [
      () => slots.enter(),
      () => slots.moveOutside("a", NOW),
      () => slots.waitOnChannel("a", NOW + 90_000),
      () => slots.notified("a", NOW),
      () => slots.closed("a"), // the notified channel closes
      () => slots.resume("a"),
      () => slots.moveOutside("b", NOW),
      () => slots.waitOnChannel("b", NOW + 90_000),
      () => slots.closed("a"), // and is reported closed once more
    ];
    for (const step of steps) {
      step();
      expect([isFull(), slots.isFull(2, NOW)]).toEqual([true, false]);
    }
    slots.resume("b");
    slots.leave();
    expect(isFull()).toBe(false);
  });

  test("that it loses when its channel closes before it was notified", ({ expect }) => {
    const slots = withMovedOutside();
    slots.waitOnChannel("a", NOW + 90_000);
    slots.closed("a");
    expect(slots.isFull(1, NOW)).toBe(false);
  });

  test("that is free some seconds later when the caller never came to the channel", ({ expect }) => {
    const slots = withMovedOutside();
    expect(slots.isFull(1, NOW + 1_000)).toBe(true);
    expect(slots.isFull(1, NOW + 10_000)).toBe(false);
  });

  test("that is free some seconds after the wait's end, if the channel was never reported closed", ({
    expect,
  }) => {
    const slots = withMovedOutside();
    slots.waitOnChannel("a", NOW + 90_000);
    expect(slots.isFull(1, NOW + 90_000)).toBe(true);
    expect(slots.isFull(1, NOW + 100_000)).toBe(false);
  });

  test("and it comes back with it when memory was lost in between", ({ expect }) => {
    const slots = new RequestSlots();
    slots.resume("a");
    expect([slots.isFull(1, NOW), slots.isFull(2, NOW)]).toEqual([true, false]);
    slots.leave();
    expect(slots.isFull(1, NOW)).toBe(false);
  });
});
