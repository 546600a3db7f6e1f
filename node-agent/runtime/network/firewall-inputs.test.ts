import { test } from "vitest";
import { readAllowedNetwork } from "./firewall-rules.ts";
import { nameserversIn } from "./firewall.ts";

test("an allowed network is written as its first address, one address as itself", ({ expect }) => {
  expect(readAllowedNetwork("10.1.2.3/16")).toBe("10.1.0.0/16");
  expect(readAllowedNetwork("192.168.1.5")).toBe("192.168.1.5/32");
  expect(readAllowedNetwork("0.0.0.0/0")).toBe("0.0.0.0/0");
});

test.for(["", "lan", "10.1.0.0/33", "10.1/16", "fd00::/8", "10.1.0.0/16; rm"])(
  "'%s' is no network, and it is said how to write one",
  (text, { expect }) => {
    expect(() => readAllowedNetwork(text)).toThrowErrorMatchingSnapshot();
  },
);

test("addresses of metadata can not be opened", ({ expect }) => {
  for (const text of ["169.254.169.254", "169.254.0.0/16", "168.63.129.16", "100.100.100.200/32"]) {
    expect(() => readAllowedNetwork(text)).toThrowErrorMatchingSnapshot();
  }
});

test("name servers are read from a resolver's file", ({ expect }) => {
  const text =
    "# nameserver 1.1.1.1\nsearch lan\nnameserver 192.168.1.1\n  nameserver\tfe80::1%eth0\nnameserver 127.0.0.53\n";
  expect(nameserversIn(text)).toEqual(["192.168.1.1", "fe80::1%eth0", "127.0.0.53"]);
});
