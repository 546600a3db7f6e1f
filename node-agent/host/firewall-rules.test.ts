import { test } from "vitest";
import { removals } from "./firewall-rules.ts";

const RULES = `-P INPUT ACCEPT
-P FORWARD DROP
-N DOCKER-USER
-N EDGERUN-FORWARD
-N EDGERUN-INPUT
-N MY-EDGERUN-LIKE
-A INPUT -i br-1 -m comment --comment "workers of \\"edgerun\\"" -j EDGERUN-INPUT
-A FORWARD -j DOCKER-USER
-A DOCKER-USER -i br-1 -j EDGERUN-FORWARD
-A DOCKER-USER -j RETURN
-A EDGERUN-FORWARD -d 10.0.0.0/8 -j REJECT --reject-with icmp-port-unreachable
-A EDGERUN-FORWARD -j RETURN
`;

test("jumps into our chains go first, then what is in them, then the chains", ({ expect }) => {
  expect(removals(RULES)).toEqual([
    [
      "-D",
      "INPUT",
      "-i",
      "br-1",
      "-m",
      "comment",
      "--comment",
      'workers of "edgerun"',
      "-j",
      "EDGERUN-INPUT",
    ],
    ["-D", "DOCKER-USER", "-i", "br-1", "-j", "EDGERUN-FORWARD"],
    ["-F", "EDGERUN-FORWARD"],
    ["-F", "EDGERUN-INPUT"],
    ["-X", "EDGERUN-FORWARD"],
    ["-X", "EDGERUN-INPUT"],
  ]);
});

test("where nothing is ours nothing is removed", ({ expect }) => {
  expect(removals("-P INPUT ACCEPT\n-N DOCKER\n-A DOCKER -j RETURN\n")).toEqual([]);
});
