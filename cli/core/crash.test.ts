import { describe, test } from "vitest";
import { crashReport } from "./crash.ts";

describe("a bug", () => {
  test.for(["flash", "edgerun"])("is one of %s, as the user calls it", (name, { expect }) => {
    const { line, advice } = crashReport(name, new Error("bug"), { isDebug: false });
    expect(line).toMatch(new RegExp(`^${name} .*bug$`));
    expect(advice.at(-1)).toContain(`(${name} `);
    expect(advice.join("\n").includes("flash ")).toBe(name === "flash");
  });

  test("has a stack trace for those who ask for it", ({ expect }) => {
    const error = new Error("bug");
    expect(crashReport("flash", error, { isDebug: true }).advice).toContain(error.stack);
    expect(crashReport("flash", error, { isDebug: false }).advice).not.toContain(error.stack);
  });
});
