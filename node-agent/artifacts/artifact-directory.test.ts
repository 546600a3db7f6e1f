import { test } from "vitest";
import { checkArtifacts } from "../doctor/checks.ts";
import { formatArtifactUsage } from "./artifact-directory.ts";

test("what a host keeps of apps is said by its builds and its size", ({ expect }) => {
  expect(formatArtifactUsage({ count: 1, bytes: 1_500 })).toMatchInlineSnapshot(
    `"files of 1 app build, 2 kB"`,
  );
  expect(checkArtifacts({ artifacts: { count: 2, bytes: 40_400_000 } })).toMatchInlineSnapshot(`
    {
      "check": "kept",
      "level": "ok",
      "text": "files of 2 app builds, 40 MB; unused files are removed when the disk gets full",
    }
  `);
  expect(checkArtifacts({ artifacts: { count: 0, bytes: 0 } }).text).toMatchInlineSnapshot(
    `"no files of apps; unused files are removed when the disk gets full"`,
  );
});
