import { test } from "vitest";
import { clientAddress } from "./client-address.ts";

const request = { headers: new Headers({ "CF-Connecting-IP": "192.0.2.7" }) };

test("is what Cloudflare says, and nothing that a client says without it", ({ expect }) => {
  expect(clientAddress({}, request)).toBe("192.0.2.7");
  expect(clientAddress({ WITHOUT_CLOUDFLARE: "true" }, request)).toBe(null);
  expect(clientAddress({}, { headers: new Headers() })).toBe(null);
});
