import { test } from "vitest";
import { AGENT_VERSION } from "../../contract/agent/agent-version.ts";
import { ageOfAgent, noticeFor } from "./agent-support.ts";

test.for([
  ["0.0.9", "refused"],
  ["0.1.0", "outdated"],
  [AGENT_VERSION, "current"],
  ["99.0.0", "current"],
  ["test", "current"],
] as const)("agent %s is %s", ([version, age], { expect }) => {
  expect(ageOfAgent(version)).toBe(age);
});

test("the owner of an old agent gets a notice with a command, that of a current one none", ({ expect }) => {
  expect(noticeFor(AGENT_VERSION)).toBeUndefined();
  expect(noticeFor("0.1.0")).toMatchObject({
    kind: "outdated",
    message: expect.stringContaining("edgerun-agent upgrade"),
  });
  expect(noticeFor("0.0.1")).toMatchObject({
    kind: "refused",
    message: expect.stringContaining("edgerun-agent upgrade"),
  });
});
