import { expect, test } from "vitest";
import { clientNetwork } from "./client-network.ts";

test.for([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:db8::1", "2001:db8:0"],
  ["2001:0DB8:0:7:1:2:3:4", "2001:db8:0"],
  ["2001:db8:7::", "2001:db8:7"],
  ["::1", "0:0:0"],
] as const)("%s is of the network %s", ([address, network]) => {
  expect(clientNetwork(address)).toBe(network);
});
