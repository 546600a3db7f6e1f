import { describe, test } from "vitest";
import { readEncryptionKeys } from "./encryption-keys.ts";

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64");

describe("the key keys", () => {
  test("is read in order, blanks do not matter", ({ expect }) => {
    const keys = readEncryptionKeys({ ENCRYPTION_KEYS: ` k2:${key(2)}, k1:${key(1)} ,` });
    expect(keys.map(({ id, bytes }) => [id, bytes.length, bytes[0]])).toEqual([
      ["k2", 32, 2],
      ["k1", 32, 1],
    ]);
  });

  test("may be empty", ({ expect }) => {
    expect(readEncryptionKeys({})).toEqual([]);
    expect(readEncryptionKeys({ ENCRYPTION_KEYS: "" })).toEqual([]);
  });

  test.for(["plain", `k1:${key(1).slice(4)}`, `K1:${key(1)}`, `k1:${key(1)},k1:${key(2)}`])(
    "is refused as a whole when it reads %s, and its text is not repeated",
    (text, { expect }) => {
      expect(() => readEncryptionKeys({ ENCRYPTION_KEYS: text })).toThrow(/^ENCRYPTION_KEYS /);
      expect(() => readEncryptionKeys({ ENCRYPTION_KEYS: text })).not.toThrow(key(1).slice(4));
    },
  );
});
