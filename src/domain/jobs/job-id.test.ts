import fc from "fast-check";
import { test } from "vitest";
import { decodeJobId, encodeJobId } from "./job-id.ts";

const hexDigit = fc.nat(15).map((value) => value.toString(16));
const anyId = fc.record({
  seq: fc.maxSafeNat().map((value) => value % 2 ** 48),
  nonce: fc.array(hexDigit, { minLength: 20, maxLength: 20 }).map((digits) => digits.join("")),
  isSync: fc.boolean(),
  shard: fc.integer({ min: 0, max: 9_999 }),
});

test("an id read back is the id that was written, and safe in a URL path", () => {
  fc.assert(
    fc.property(anyId, (id) => {
      const text = encodeJobId(id);
      const read = decodeJobId(text);
      return /^[a-z0-9-]+$/.test(text) && JSON.stringify(read) === JSON.stringify(id);
    }),
  );
});

test("text that is no id is rejected", ({ expect }) => {
  for (const text of ["", "hello", "00000000-0000-0000-0000-000000000000", `sync-${"0".repeat(40)}-s0`]) {
    expect(decodeJobId(text)).toBeUndefined();
  }
});

test("neighbouring jobs have ids that do not look alike", ({ expect }) => {
  const first = encodeJobId({ seq: 1, nonce: "0123456789abcdef0123", isSync: false, shard: 0 });
  const second = encodeJobId({ seq: 2, nonce: "fedcba98765432100123", isSync: false, shard: 0 });
  expect(first.slice(0, 8)).not.toBe(second.slice(0, 8));
});
