/** An app of the PyPI package runpod 2.0, deployed by the package itself: its workers are processes. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { onTestFinished, test } from "vitest";
import { startAccountHost } from "../support/account-host.ts";
import { ensureClientVenv } from "../support/client-venv.ts";

const PROGRAM = fileURLToPath(new URL("../clients/runpod_app.py", import.meta.url));

test("classes with routes, ASGI applications and queues of runpod 2.0 serve", async ({ expect }) => {
  const python = await ensureClientVenv("clients-v2");
  const account = await startAccountHost("runpod apps", "process", python);
  onTestFinished(() => account.stop());
  const flags = ["--base-url", account.baseUrl, "--api-key", account.apiKey];
  const { all } = await execa(python, [PROGRAM, ...flags], { all: true });
  expect(all).toContain("ok         all was called");
});
