/** Memory that is lost, by an eviction or a reset, and what callers hear of it. */
import { noted, outcomeOf, RESET } from "./caller.ts";
import { type LifecycleCase, passed, type Place, type Stub, type Subject } from "./subject.ts";

const counting = ({ state, notes, other }: Place): Subject => {
  let count = 0;
  notes.add("constructed");
  const steps: Record<string, () => unknown> = {
    count: () => (count += 1),
    wait: () => passed(60_000),
    abort: () => state.abort("planted"),
    "abort soon": async () => {
      await passed(50);
      state.abort("planted");
    },
    "abort and go on": () => {
      try {
        state.abort("planted");
      } catch {
        // what abort() does cannot be caught
      }
      return (other as () => Stub)().act("count");
    },
    block: () =>
      state.blockConcurrencyWhile(async () => {
        await passed(100);
        return count;
      }),
    "block and throw": () =>
      state.blockConcurrencyWhile(async () => {
        throw new RangeError("planted");
      }),
    throw: () => {
      throw Object.assign(new RangeError("planted"), { code: 5 });
    },
    "let the other abort": () => (other as () => Stub)().act("abort"),
    "let the other throw": () => outcomeOf((other as () => Stub)().act("throw")),
  };
  return { act: (step) => steps[step]?.() };
};

const RESET_BY_RANGE_ERROR = { ...RESET, name: "RangeError" };
const THROWN = { name: "RangeError", message: "planted", code: 5, remote: true };

/** One that can be constructed when it is tried again. */
const unreliable = (begin: (place: Place, fail: () => void) => void) => (place: Place) => {
  const { notes, other } = place;
  if (!other) return { act: () => notes.add("tried") };
  begin(place, () => {
    throw new RangeError("planted");
  });
  return { act: () => "answer" };
};

export const RESETS: readonly LifecycleCase[] = [
  {
    name: "an eviction takes the memory, and the constructor runs again",
    subject: counting,
    run: async ({ stub, evict }) => {
      const counts = [await stub().act("count"), await stub().act("count")];
      await evict();
      return [...counts, await stub().act("count"), await noted(stub, 2)];
    },
    gives: [1, 2, 1, ["constructed", "constructed"]],
  },
  {
    name: "abort() takes the memory, and its caller hears of a reset",
    subject: counting,
    run: async ({ stub }) => [
      await stub().act("count"),
      await outcomeOf(stub().act("abort")),
      await stub().act("count"),
    ],
    gives: [1, RESET, 1],
  },
  {
    name: "all calls that are under way hear of a reset",
    subject: counting,
    run: async ({ stub }) => {
      const waiting = outcomeOf(stub().act("wait"));
      await outcomeOf(stub().act("abort soon"));
      return waiting;
    },
    gives: RESET,
  },
  {
    name: "a stub that was used before a reset fails for good",
    subject: counting,
    run: async ({ stub }) => {
      const [used, unused] = [stub(), stub()];
      await used.act("count");
      await outcomeOf(stub().act("abort"));
      return [
        await outcomeOf(used.act("count")),
        await outcomeOf(used.act("count")),
        await outcomeOf(unused.act("count")),
      ];
    },
    gives: [RESET, RESET, { answer: 1 }],
  },
  {
    name: "a stub that was used before an eviction does not fail",
    subject: counting,
    run: async ({ stub, evict }) => {
      const used = stub();
      await used.act("count");
      await evict();
      return used.act("count");
    },
    gives: 1,
  },
  {
    name: "nothing that follows abort() is seen",
    subject: counting,
    run: async ({ stub, other }) => [
      await outcomeOf(stub().act("abort and go on")),
      await other().act("count"),
    ],
    gives: [RESET, 1],
  },
  {
    name: "an error that is thrown has its name, message and members, and is remote",
    subject: counting,
    run: async ({ stub }) => [
      await outcomeOf(stub().act("throw")),
      await stub().act("let the other throw"),
      await stub().act("count"),
    ],
    gives: [THROWN, THROWN, 1],
  },
  {
    name: "an error of a reset that is passed on is one of a reset, and remote",
    subject: counting,
    run: async ({ stub }) => outcomeOf(stub().act("let the other abort")),
    gives: { ...RESET, remote: true },
  },
  {
    name: "no call begins while blockConcurrencyWhile() runs",
    subject: counting,
    run: async ({ stub }) => Promise.all([stub().act("block"), stub().act("count")]),
    gives: [0, 1],
  },
  {
    name: "blockConcurrencyWhile() that throws resets the object",
    subject: counting,
    run: async ({ stub }) => [
      await stub().act("count"),
      await outcomeOf(stub().act("block and throw")),
      await stub().act("count"),
    ],
    gives: [1, RESET_BY_RANGE_ERROR, 1],
  },
  {
    name: "calls wait while the constructor blocks, and come in their order",
    subject: ({ state, notes }) => {
      void state.blockConcurrencyWhile(async () => {
        await passed(50);
        notes.add("ready");
      });
      return { act: (step) => notes.add(step) };
    },
    run: async ({ stub }) => {
      const one = stub();
      await Promise.all(["a", "b", "c"].map((step) => one.act(step)));
      return stub().act("notes");
    },
    gives: ["ready", "a", "b", "c"],
  },
  {
    name: "a constructor that blocks and throws fails its calls, and runs again for the next",
    subject: unreliable(({ state, other }, fail) => {
      void state.blockConcurrencyWhile(async () => {
        await (other as () => Stub)().act("try");
        if (((await (other as () => Stub)().act("notes")) as unknown[]).length === 1) fail();
      });
    }),
    run: async ({ stub }) => [await outcomeOf(stub().act("go")), await outcomeOf(stub().act("go"))],
    gives: [RESET_BY_RANGE_ERROR, { answer: "answer" }],
  },
];
