import { fc, test as property } from "@fast-check/vitest";
import { test } from "vitest";
import {
  accessToEndpoint,
  ACCESSES,
  allowsNothing,
  covers,
  FULL_PERMISSIONS,
  levelOf,
  NO_PERMISSIONS,
  OWNER_PERMISSIONS,
  READ_ONLY_PERMISSIONS,
  suffices,
  type Permissions,
} from "./permissions.ts";

const ENDPOINTS = ["one", "two", "three"];
/** Stands for every endpoint that no list names. */
const UNNAMED = "unnamed";

const access = fc.constantFrom(...ACCESSES);
const permissions: fc.Arbitrary<Permissions> = fc.record({
  graphql: access,
  endpoints: fc.oneof(access, fc.dictionary(fc.constantFrom(...ENDPOINTS), access)),
  shell: fc.boolean(),
});

/** All single things that permissions allow. */
function allowed(held: Permissions): string[] {
  return (["read", "write"] as const).flatMap((needed) => [
    ...(held.shell === true ? ["shell"] : []),
    ...(suffices(held.graphql, needed) ? [`graphql ${needed}`] : []),
    ...[...ENDPOINTS, UNNAMED]
      .filter((endpoint) => suffices(accessToEndpoint(held, endpoint), needed))
      .map((endpoint) => `${endpoint} ${needed}`),
  ]);
}

property.prop([permissions])("permissions cover themselves, none, and are covered by all", (held) => {
  return covers(held, held) && covers(held, NO_PERMISSIONS) && covers(OWNER_PERMISSIONS, held);
});

property.prop([permissions, permissions, permissions])("covering is transitive", (one, two, three) => {
  return !(covers(one, two) && covers(two, three)) || covers(one, three);
});

property.prop([permissions, permissions], { numRuns: 1_000 })(
  "one covers another exactly if it allows everything that the other allows",
  (held, asked) => {
    const mine = new Set(allowed(held));
    return covers(held, asked) === allowed(asked).every((thing) => mine.has(thing));
  },
);

property.prop([permissions])("what allows nothing is recognised, however it is written", (held) => {
  return allowsNothing(held) === (allowed(held).length === 0);
});

test("a list never covers access to all endpoints, which counts those made later", ({ expect }) => {
  const listed: Permissions = { graphql: "write", endpoints: { one: "write" } };
  expect(covers(listed, { graphql: "none", endpoints: "read" })).toBe(false);
  expect(covers(listed, { graphql: "none", endpoints: { one: "read" } })).toBe(true);
  expect(covers(listed, { graphql: "none", endpoints: { two: "read" } })).toBe(false);
});

test("an inherited property is no endpoint", ({ expect }) => {
  expect(accessToEndpoint({ graphql: "none", endpoints: {} }, "constructor")).toBe("none");
});

test("shell is in no level: a key that lacks it cannot give it", ({ expect }) => {
  expect(covers(FULL_PERMISSIONS, { ...NO_PERMISSIONS, shell: true })).toBe(false);
  expect(covers(READ_ONLY_PERMISSIONS, { ...NO_PERMISSIONS, shell: true })).toBe(false);
  expect(levelOf(OWNER_PERMISSIONS)).toBe("ALL");
  expect(levelOf({ ...READ_ONLY_PERMISSIONS, shell: true })).toBe("RESTRICTED");
});

test("the level is a word for common permissions", ({ expect }) => {
  expect(levelOf(FULL_PERMISSIONS)).toBe("ALL");
  expect(levelOf(READ_ONLY_PERMISSIONS)).toBe("READ_ONLY");
  expect(levelOf({ graphql: "write", endpoints: "read" })).toBe("RESTRICTED");
  expect(levelOf({ graphql: "read", endpoints: {} })).toBe("RESTRICTED");
});

test("each access suffices for itself and for less", ({ expect }) => {
  const sufficient = ACCESSES.map((granted) => ACCESSES.filter((needed) => suffices(granted, needed)));
  expect(sufficient).toEqual([["none"], ["none", "read"], ["none", "read", "write"]]);
});
