import { test } from "vitest";
import { generateCredential, kindOfCredential, readCredential } from "./credential.ts";

test("a generated credential has its kind's prefix and 256 random bits", ({ expect }) => {
  expect(generateCredential("api-key")).toMatch(/^er_[0-9a-f]{64}$/);
  expect(generateCredential("host-token")).toMatch(/^erh_[0-9a-f]{64}$/);
  expect(generateCredential("join-token")).toMatch(/^erj_[0-9a-f]{64}$/);
  expect(generateCredential("api-key")).not.toBe(generateCredential("api-key"));
});

test("the prefix tells the kind, and any other string may be an API key", ({ expect }) => {
  expect(kindOfCredential(generateCredential("host-token"))).toBe("host-token");
  expect(kindOfCredential(generateCredential("join-token"))).toBe("join-token");
  expect(kindOfCredential(generateCredential("endpoint-key"))).toBe("endpoint-key");
  expect(kindOfCredential(generateCredential("api-key"))).toBe("api-key");
  expect(kindOfCredential("my own key")).toBe("api-key");
});

test("a credential comes bare or after Bearer in any case", ({ expect }) => {
  for (const header of ["secret", "Bearer secret", "bearer secret", "BEARER  secret ", " secret"]) {
    expect(readCredential(header)).toBe("secret");
  }
});

test("no header, an empty one and a scheme alone hold no credential", ({ expect }) => {
  for (const header of [undefined, null, "", "  ", "Bearer", "bearer "]) {
    expect(readCredential(header)).toBeUndefined();
  }
});
