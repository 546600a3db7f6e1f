import { test } from "vitest";
import {
  credentialOf,
  generateCredential,
  kindOfCredential,
  mayBeIssued,
  readCredential,
} from "./credential.ts";

test("a generated credential has its kind's prefix and 256 random bits", ({ expect }) => {
  expect(generateCredential("api-key")).toMatch(/^er_[0-9a-f]{72}$/);
  expect(generateCredential("host-token")).toMatch(/^erh_[0-9a-f]{72}$/);
  expect(generateCredential("join-token")).toMatch(/^erj_[0-9a-f]{72}$/);
  expect(generateCredential("api-key")).not.toBe(generateCredential("api-key"));
});

test("the checksum of a credential that has one tells it from made-up and mistyped ones", ({ expect }) => {
  const key = generateCredential("api-key");
  expect(mayBeIssued(key)).toBe(true);
  expect(mayBeIssued(key.replace(/.$/, (last) => (last === "0" ? "1" : "0")))).toBe(false);
  expect(mayBeIssued(key.replace(/^er_./, (start) => (start === "er_0" ? "er_1" : "er_0")))).toBe(false);
  expect(mayBeIssued(credentialOf("api-key", new Uint8Array(32)))).toBe(true); // as before there were checksums
  expect(mayBeIssued(`er_${"0".repeat(64)}dbe6ef54`)).toBe(false);
  for (const text of ["", "er_", "my own key", `${key}0`, key.slice(0, -1)])
    expect(mayBeIssued(text)).toBe(false);
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

test("a header of another scheme is none of ours", ({ expect }) => {
  for (const header of ["Basic dXNlcjpwYXNz", "basic x", "Digest username=a", "Negotiate x"]) {
    expect(readCredential(header)).toBeUndefined();
  }
  expect(readCredential("Bearer basic x")).toBe("basic x");
  expect(readCredential("my own key")).toBe("my own key");
});

test("no header, an empty one and a scheme alone hold no credential", ({ expect }) => {
  for (const header of [undefined, null, "", "  ", "Bearer", "bearer "]) {
    expect(readCredential(header)).toBeUndefined();
  }
});
