import { describe, test } from "vitest";
import { CONSOLE_HEADER, signInCookie, withSignIn } from "./cookie.ts";

const TOKEN = `ers_${"a".repeat(72)}`;
const OWN = { [CONSOLE_HEADER]: "1", Cookie: `edgerun-sign-in=${TOKEN}` };

function received(headers: Record<string, string>, url = "http://edge/graphql"): Headers {
  return withSignIn(new Request(url, { method: "POST", headers, body: "{}" })).headers;
}

describe("a request of the console's own page", () => {
  test.for([
    ["without an origin", {}],
    ["of the same origin", { Origin: "http://edge", "Sec-Fetch-Site": "same-origin" }],
    ["behind a proxy that ends TLS", { Origin: "https://edge" }],
  ] as const)("%s counts as that of its sign-in", ([, headers], { expect }) => {
    expect(received({ ...OWN, ...headers }).get("Authorization")).toBe(`Bearer ${TOKEN}`);
  });

  test("keeps the key that it has itself", ({ expect }) => {
    expect(received({ ...OWN, Authorization: "Bearer er_1" }).get("Authorization")).toBe("Bearer er_1");
  });
});

describe("a request that somebody else made the browser send counts as nobody's", () => {
  test.for([
    ["a form of another site", { Cookie: OWN.Cookie }],
    ["a page of another origin", { ...OWN, Origin: "http://evil" }],
    ["a page of another port", { ...OWN, Origin: "http://edge:81" }],
    ["a sandboxed page", { ...OWN, Origin: "null" }],
    ["a page of another host of the domain", { ...OWN, "Sec-Fetch-Site": "same-site" }],
    ["another site", { ...OWN, "Sec-Fetch-Site": "cross-site" }],
    ["a navigation", { ...OWN, "Sec-Fetch-Site": "none" }],
  ] as const)("%s", ([, headers], { expect }) => {
    expect(received(headers).get("Authorization")).toBeNull();
  });
});

test("no cookie of a sign-in goes on to workers, and all others do", ({ expect }) => {
  const Cookie = `a=1; edgerun-sign-in=${TOKEN}; b=2=3; __Host-edgerun-sign-in=${TOKEN}`;
  expect(received({ Cookie }, "http://edge/lb/e1/x").get("Cookie")).toBe("a=1; b=2=3");
  expect(received({ Cookie: OWN.Cookie }).get("Cookie")).toBeNull();
});

test("over HTTPS only the cookie counts that no other host can set", ({ expect }) => {
  const url = "https://edge/graphql";
  expect(received(OWN, url).get("Authorization")).toBeNull();
  const Cookie = `edgerun-sign-in=other; __Host-edgerun-sign-in=${TOKEN}`;
  expect(received({ ...OWN, Cookie }, url).get("Authorization")).toBe(`Bearer ${TOKEN}`);
  expect(signInCookie(url, TOKEN, 60)).toBe(
    `__Host-edgerun-sign-in=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure`,
  );
});
