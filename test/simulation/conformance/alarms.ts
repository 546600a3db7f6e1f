/** Alarms that fire. */
import { noted, outcomeOf } from "./caller.ts";
import { type LifecycleCase, passed, type Place, type Subject } from "./subject.ts";

const LATER = 4_000_000_000_000;
const FIRST = [0, false, null];
const SECOND = [1, true, null];

type Handler = (place: Place) => unknown;

/** One whose alarm notes what it finds, and then handles it; `first` only runs the first time. */
const alarmed =
  (first: Handler = () => {}) =>
  (place: Place): Subject => {
    const { storage } = place.state;
    const steps: Record<string, () => unknown> = {
      alarm: () => storage.getAlarm(),
      past: () => storage.setAlarm(Date.now() - 1_000),
      soon: () => storage.setAlarm(Date.now() + 200),
      later: () => storage.setAlarm(LATER),
      abort: () => place.state.abort("planted"),
      "set and abort": () => {
        void storage.setAlarm(LATER - 1);
        queueMicrotask(() => place.state.abort("planted"));
      },
    };
    return {
      act: (step) => steps[step]?.(),
      async alarm(info) {
        const isFirst = place.notes.all.every((note) => !Array.isArray(note));
        place.notes.add([info?.retryCount, info?.isRetry, await storage.getAlarm()]);
        if (isFirst) await first(place);
      },
    };
  };

/** An alarm of the past fires: gives so many notes, and the alarm that is set then. */
const fired = (name: string, first: Handler, [notes, next]: [unknown[], unknown]): LifecycleCase => ({
  name,
  subject: alarmed(first),
  run: async ({ stub }) => {
    await stub().act("past");
    return [await noted(stub, notes.length), await stub().act("alarm")];
  },
  gives: [notes, next],
});

export const ALARMS: readonly LifecycleCase[] = [
  fired("an alarm of the past fires, and is not set any more", () => {}, [[FIRST], null]),
  fired("a handler sets the next alarm", ({ state }) => state.storage.setAlarm(LATER), [[FIRST], LATER]),
  fired(
    "an alarm that its handler sets fires when the handler has ended",
    async ({ state, notes }) => {
      await state.storage.setAlarm(1);
      await passed(100);
      notes.add("ended");
    },
    [[FIRST, "ended", FIRST], null],
  ),
  fired(
    "a handler that throws runs again, and what it has written stays",
    ({ notes }) => {
      notes.add("written");
      throw new Error("planted");
    },
    [[FIRST, "written", SECOND], null],
  ),
  fired(
    "a handler that sets another alarm and throws runs again at that time only",
    async ({ state, notes }) => {
      await state.storage.setAlarm(Date.now() + 500);
      notes.add("set");
      throw new Error("planted");
    },
    [[FIRST, "set", FIRST], null],
  ),
  fired(
    "a handler whose object is reset runs again",
    async ({ state }) => {
      await state.storage.sync();
      state.abort("planted");
    },
    [[FIRST, SECOND], null],
  ),
  {
    name: "a handler that deletes the alarm and throws does not run again",
    subject: alarmed(async ({ state }) => {
      await state.storage.deleteAlarm();
      throw new Error("planted");
    }),
    run: async ({ stub }) => {
      await stub().act("past");
      await noted(stub, 1);
      await passed(2_500);
      return stub().act("notes");
    },
    gives: [FIRST],
  },
  {
    name: "an alarm wakes an object, whose constructor does not find it set",
    subject: (place) => {
      const { state, notes } = place;
      void state.blockConcurrencyWhile(async () => {
        const at = await state.storage.getAlarm();
        notes.add(at === null ? "not set" : "set");
      });
      return alarmed()(place);
    },
    run: async ({ stub, evict }) => {
      await stub().act("soon");
      await evict();
      await passed(500);
      return noted(stub, 3);
    },
    gives: ["not set", "not set", FIRST],
  },
  {
    name: "an alarm that is not due is set after an eviction, also for the constructor",
    subject: (place) => {
      const { state, notes } = place;
      void state.blockConcurrencyWhile(async () => notes.add(await state.storage.getAlarm()));
      return alarmed()(place);
    },
    run: async ({ stub, evict }) => {
      await stub().act("later");
      await evict();
      return [await stub().act("alarm"), await stub().act("notes")];
    },
    gives: [LATER, [null, LATER]],
  },
  {
    name: "an alarm that is set just before a reset is lost, and the one before is set",
    subject: alarmed(),
    run: async ({ stub }) => {
      await stub().act("later");
      await outcomeOf(stub().act("set and abort"));
      return stub().act("alarm");
    },
    gives: LATER,
  },
];
