import fc from "fast-check";
import { test } from "vitest";
import { fromByteString, endToEndHeaders, toByteString } from "./headers.ts";

const HOP_BY_HOP = [
  "Connection",
  "Keep-Alive",
  "Proxy-Authorization",
  "Proxy-Connection",
  "TE",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
];

const names = fc.oneof(fc.constantFrom(...HOP_BY_HOP), fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}$/));
const headers = fc.array(fc.tuple(names, fc.constantFrom("close", "x-a, X-B", "keep-alive,a", "", "1")));

test("headers of one connection never pass, and all others do, unchanged and in their order", ({
  expect,
}) => {
  fc.assert(
    fc.property(headers, (list) => {
      const isNamed = (name: string) =>
        list.some(
          ([other, value]) =>
            other.toLowerCase() === "connection" &&
            value.split(",").some((token) => token.trim().toLowerCase() === name.toLowerCase()),
        );
      const isOfConnection = (name: string) =>
        /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i.test(name) ||
        isNamed(name);
      expect(endToEndHeaders(list)).toEqual(list.filter(([name]) => !isOfConnection(name)));
    }),
  );
});

test("a name that comes more than once passes as often", ({ expect }) => {
  const cookies: [string, string][] = [
    ["Set-Cookie", "a=1"],
    ["Set-Cookie", "b=2, c"],
  ];
  expect(endToEndHeaders([["Connection", "close"], ...cookies])).toEqual(cookies);
});

test("text crosses as its bytes, and comes back as it was", ({ expect }) => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const bytes = toByteString(text);
      expect(Array.from(bytes).every((character) => character.charCodeAt(0) < 256)).toBe(true);
      expect(fromByteString(bytes)).toBe(text);
    }),
  );
  expect(toByteString("café")).toBe("caf\u00c3\u00a9");
  expect(fromByteString("caf\u00e9")).toBe("café");
});
