import { test } from "vitest";
import { changesTogether, shownChanges } from "./changes.ts";

const change = (field: string, old: unknown, now: unknown) => ({ field, old, new: now });

test("changes of several releases are one, and what came back is none", ({ expect }) => {
  const third = { changes: [change("gpuCount", 2, 1), change("template.imageName", "b", "c")] };
  const second = { changes: [change("gpuCount", 1, 2), change("template.imageName", "a", "b")] };
  expect(changesTogether([third, second])).toEqual([change("template.imageName", "a", "c")]);
});

test("a variable may differ although its values are not shown", ({ expect }) => {
  const releases = [{ changes: [change("template.env.TOKEN", "***", "***")] }];
  expect(changesTogether(releases)).toHaveLength(1);
});

test("another build is shown as code, and only once", ({ expect }) => {
  const changes = [
    change("flashBuildId", "a", "b"),
    change("template.env._FLASH_SOURCE_FINGERPRINT", "***", "***"),
    change("template.env.MODEL", null, "***"),
  ];
  expect(shownChanges(changes)).toEqual([change("code", "a", "b"), change("env.MODEL", null, "***")]);
});
