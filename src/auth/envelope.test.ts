import fc from "fast-check";
import { describe, test } from "vitest";
import { open, rewrap, seal, type SealedPlace, type SealingKeys } from "./envelope.ts";
import type { EncryptionKey } from "./encryption-keys.ts";

const key = (id: string, byte: number): EncryptionKey => ({ id, bytes: new Uint8Array(32).fill(byte) });
const OLD: SealingKeys = [key("k1", 1)];
const ROTATED: SealingKeys = [key("k2", 2), ...OLD];
const PLACE: SealedPlace = { accountId: "account", kind: "secret", rowId: "row" };

/** A text is ASCII, so one of its bits is a bit of one of its characters. */
function withFlippedBit(text: string, at: number): string {
  const index = Math.floor(at / 7) % text.length;
  const flipped = String.fromCharCode(text.charCodeAt(index) ^ (1 << (at % 7)));
  return text.slice(0, index) + flipped + text.slice(index + 1);
}

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 500 }),
  fc.string({ unit: "grapheme", maxLength: 500 }),
  fc.constantFrom("", "\uFEFFmark", "\0", "a\r\n", "x".repeat(65_536), "🔑".repeat(16_384)),
);

describe("a sealed text", () => {
  test("opens to what it was, whatever that is", async ({ expect }) => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await open(OLD, PLACE, await seal(OLD, PLACE, text))).toEqual({
          kind: "opened",
          plaintext: text,
        });
      }),
    );
  });

  test("does not open once a single bit of it is another", async ({ expect }) => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 40 }), fc.nat(), async (text, at) => {
        const changed = withFlippedBit(await seal(OLD, PLACE, text), at);
        expect((await open(OLD, PLACE, changed)).kind).toMatch(/^(?:damaged|key_missing)$/);
      }),
      { numRuns: 1_000 },
    );
  });

  test("opens in its own place only", async ({ expect }) => {
    const anyPlace = fc.record({
      accountId: fc.constantFrom("account", "other", "account\u0000", "acc"),
      kind: fc.constantFrom("secret" as const, "registry_auth" as const, "webhook_secret" as const),
      rowId: fc.constantFrom("row", "rows", "ro", 'row"'),
    });
    await fc.assert(
      fc.asyncProperty(anyPlace, anyPlace, async (home, other) => {
        const opening = await open(OLD, other, await seal(OLD, home, "value"));
        const isHome = JSON.stringify(home) === JSON.stringify(other);
        expect(opening).toEqual(isHome ? { kind: "opened", plaintext: "value" } : { kind: "damaged" });
      }),
    );
  });

  test("is never the same twice, and does not hold what it seals", async ({ expect }) => {
    const sealed = [await seal(OLD, PLACE, "value"), await seal(OLD, PLACE, "value")];
    expect(new Set(sealed).size).toBe(2);
    expect(sealed[0]).toMatch(/^v1:k1:[\w-]{80}:[\w-]+$/);
    expect(sealed[0]).not.toContain(btoa("value").slice(0, 6));
  });

  test.for(["", "plain:x", "v2:k1:AAAA:AAAA", "v1:k1:AAAA", "v1:k1:A:A", "v1:k1:AAAA:AAAA:AAAA"])(
    "is none when it reads '%s'",
    async (text, { expect }) => {
      expect(await open(OLD, PLACE, text)).toEqual({ kind: "damaged" });
    },
  );

  test("does not open with another key of the same id", async ({ expect }) => {
    const sealed = await seal(OLD, PLACE, "value");
    expect(await open([key("k1", 9)], PLACE, sealed)).toEqual({ kind: "damaged" });
  });
});

describe("a changed ring", () => {
  test("opens what was sealed before, and seals under its newest key", async ({ expect }) => {
    const before = await seal(OLD, PLACE, "value");
    expect(await open(ROTATED, PLACE, before)).toEqual({ kind: "opened", plaintext: "value" });
    expect(await seal(ROTATED, PLACE, "value")).toMatch(/^v1:k2:/);
  });

  test("says which key is missing once the old one is gone", async ({ expect }) => {
    const before = await seal(OLD, PLACE, "value");
    const missing = { kind: "key_missing", keyId: "k1" };
    expect(await open([key("k2", 2)], PLACE, before)).toEqual(missing);
    expect(await rewrap([key("k2", 2)], PLACE, before)).toEqual(missing);
  });

  test("opens a rewrapped value without the old key", async ({ expect }) => {
    const before = await seal(OLD, PLACE, "value");
    const outcome = await rewrap(ROTATED, PLACE, before);
    const sealed = outcome.kind === "rewrapped" ? outcome.sealed : "";
    expect(await open([key("k2", 2)], PLACE, sealed)).toEqual({ kind: "opened", plaintext: "value" });
    expect(sealed.split(":")[3]).toBe(before.split(":")[3]);
  });

  test("does not rewrap a value that was copied from another place", async ({ expect }) => {
    const elsewhere = await seal(OLD, { ...PLACE, rowId: "other" }, "value");
    expect(await rewrap(ROTATED, PLACE, elsewhere)).toEqual({ kind: "damaged" });
  });
});
