import { expect, test } from "vitest";
import { planItems, withReferences, type Item, type Present, type Settings } from "./plan.ts";

const item = (sourceId: string, name: string, settings: Settings = {}): Item => ({
  kind: "endpoint",
  sourceId,
  name,
  settings,
  notes: [],
});
const present = (id: string, name: string, settings: Settings = {}): Present => ({ id, name, settings });

const decisionsOf = (items: readonly Item[], there: readonly Present[], recorded = {}) =>
  planItems(items, there, recorded).map(({ decision }) => ({ ...decision }));

test("what is not there is created, and what was refused is not", () => {
  const refused = { ...item("a", "one"), problem: "why" };
  expect(decisionsOf([refused, item("b", "two")], [present("x", "three")])).toEqual([
    { action: "refused", reason: "why" },
    { action: "create" },
  ]);
});

test("a record counts more than a name", () => {
  const there = [present("x", "renamed"), present("y", "one")];
  expect(decisionsOf([item("a", "one")], there, { a: "x" })).toEqual([
    { action: "differs", id: "x", isOurs: true, settings: ["name"] },
  ]);
});

test("a record of what is gone does not count", () => {
  expect(decisionsOf([item("a", "one")], [], { a: "x" })).toEqual([{ action: "create" }]);
});

test("of several with one name each is the counterpart of one item, the equal one first", () => {
  const items = [
    item("a", "one", { workersMax: 1 }),
    item("b", "one", { workersMax: 2 }),
    item("c", "one", { workersMax: 4 }),
  ];
  const there = [present("y", "one", { workersMax: 2 }), present("z", "one", { workersMax: 3 })];
  expect(decisionsOf(items, there)).toEqual([
    { action: "differs", id: "z", isOurs: false, settings: ["workersMax"] },
    { action: "present", id: "y" },
    { action: "create" },
  ]);
});

test.each<[Settings, Readonly<Record<string, unknown>>, readonly string[]]>([
  [{ locations: "" }, { locations: null }, []],
  [{ env: { b: "2", a: "1" } }, { env: { a: "1", b: "2" } }, []],
  [{ env: { a: "1" } }, { env: { a: "2" } }, ["env"]],
  [{ idleTimeout: undefined }, { idleTimeout: 9 }, []],
  [{ networkVolumeIds: ["a", "b"] }, { networkVolumeIds: ["b", "a"] }, ["networkVolumeIds"]],
  [{ startSsh: false }, {}, []],
  [{ volumeInGb: 0 }, { volumeInGb: 20 }, ["volumeInGb"]],
])("%j and %j differ in %j", (wanted, there, settings) => {
  const [decision] = decisionsOf([item("a", "one", wanted)], [{ id: "x", name: "one", settings: there }]);
  expect(decision).toEqual(
    settings.length === 0
      ? { action: "present", id: "x" }
      : { action: "differs", id: "x", isOurs: false, settings },
  );
});

test("references become ids of the new account, and a missing one is reported", () => {
  const known = new Map([
    ["registry", new Map([["r", "R"]])],
    ["volume", new Map([["v", "V"]])],
  ] as const);
  const settings = { containerRegistryAuthId: "r", networkVolumeIds: ["v"] };
  expect(withReferences(item("a", "one", settings), known)).toMatchObject({
    settings: { containerRegistryAuthId: "R", networkVolumeIds: ["V"] },
    problem: undefined,
  });
  const lost = withReferences(item("a", "one", { networkVolumeIds: ["v", "w"] }), known);
  expect(lost.problem).toContain("volume w");
});
