import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { removeDevServerUrl, writeDevServerUrl } from "./dev.ts";

test("a process removes only its own URL, and ignores a damaged file", async ({ expect }) => {
  const directory = mkdtempSync(join(tmpdir(), "flash-address-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, ".flash"));
  const file = join(directory, ".flash/dev.json");
  await writeDevServerUrl(directory, "http://localhost:8888");
  await removeDevServerUrl(directory);
  expect(existsSync(file)).toBe(false);
  await removeDevServerUrl(directory);
  for (const text of ["{", "null", `{"url":"http://localhost:8889","pid":${process.pid + 1}}`]) {
    writeFileSync(file, text);
    await removeDevServerUrl(directory);
    expect(existsSync(file)).toBe(true);
  }
});
