/** Output gates: what follows a write is not seen by anyone before that write is durable. */
import { Connection, outcomeOf, RESET } from "./caller.ts";
import type { LifecycleCase, Outside, Place, Stub, Subject } from "./subject.ts";

/** One that writes, and is reset before it is durable, or soon after. */
const writing = ({ state, notes, other }: Place): Subject => {
  const loseAll = (): void => queueMicrotask(() => state.abort("planted"));
  const steps: Record<string, () => unknown> = {
    write: () => notes.add("written"),
    "write and answer": () => {
      notes.add("lost");
      loseAll();
      return "answer";
    },
    "write and call": () => {
      notes.add("lost");
      void (other as () => Stub)().act("write");
      loseAll();
    },
    "write, call and wait": async () => {
      notes.add("written");
      await (other as () => Stub)().act("write");
      state.abort("planted");
    },
    "write and sync": async () => {
      notes.add("written");
      await state.storage.sync();
      state.abort("planted");
    },
    "write twice": async () => {
      notes.add("lost");
      await Promise.resolve();
      notes.add("lost");
      state.abort("planted");
    },
    "write and throw": () => {
      notes.add("written");
      throw new Error("planted");
    },
  };
  return {
    act: (step) => steps[step]?.(),
    opened: (socket) => state.acceptWebSocket(socket),
    message(socket) {
      notes.add("lost");
      socket.send("sent");
      loseAll();
    },
  };
};

const after =
  (step: string) =>
  async ({ stub, other }: Outside): Promise<unknown[]> => [
    await outcomeOf(stub().act(step)),
    await stub().act("notes"),
    await other().act("notes"),
  ];

const writingCase = (name: string, step: string, gives: unknown): LifecycleCase => ({
  name,
  subject: writing,
  run: after(step),
  gives,
});

export const GATES: readonly LifecycleCase[] = [
  writingCase("an answer is not seen if the write before it is lost", "write and answer", [RESET, [], []]),
  writingCase("a call is not seen if the write before it is lost", "write and call", [RESET, [], []]),
  {
    name: "a message is not seen if the write before it is lost",
    subject: writing,
    run: async ({ stub }) => {
      const connection = await Connection.open(stub());
      connection.send("go");
      return [await connection.events(1), await stub().act("notes")];
    },
    gives: [[1006], []],
  },
  writingCase("a write is durable once a call after it has an answer", "write, call and wait", [
    RESET,
    ["written"],
    ["written"],
  ]),
  writingCase("a write is durable once sync() resolves", "write and sync", [RESET, ["written"], []]),
  writingCase("writes between which nothing is awaited are lost together", "write twice", [RESET, [], []]),
  writingCase("a method that throws has written what it has written", "write and throw", [
    { name: "Error", message: "planted", remote: true },
    ["written"],
    [],
  ]),
];
