import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { isAlive } from "../support/leftovers.ts";
import { pathWithUv } from "../support/uv.ts";
import { indexEnvironment, wheelHouse } from "../support/wheel-house.ts";
import { built, HELLO, projectOf, tar, temporaryDirectory } from "./build-project.ts";

const MAIN = resolve(import.meta.dirname, "../../cli/main.ts");

function flash(directory: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  return spawn(process.execPath, [MAIN, ...args], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A uv that says that it is at work, and never ends. */
function endlessUv(): { readonly path: string; readonly log: string } {
  const directory = temporaryDirectory();
  const log = join(directory, "log");
  const script = `#!/bin/sh\n[ "$1" = --version ] || { echo $$ > ${log}; exec tail -f /dev/null; }\n`;
  writeFileSync(join(directory, "uv"), script);
  chmodSync(join(directory, "uv"), 0o755);
  return { path: `${directory}${delimiter}${process.env["PATH"]}`, log };
}

/** The id of the process that installs, once there is one. */
async function installing(log: string): Promise<number> {
  const changes = watch(dirname(log));
  try {
    for (;;) {
      const pid = existsSync(log) ? Number(readFileSync(log, "utf8")) : 0;
      if (pid > 0) return pid;
      await once(changes, "change");
    }
  } finally {
    changes.close();
  }
}

const APP = { "app.py": HELLO, "requirements.txt": "left>=1\n" };

/** Names in `.flash/`, but for the log. */
function outputs(project: string): string[] {
  const names = readdirSync(join(project, ".flash"));
  return names.filter((name) => name !== "logs").sort();
}

test("a build that is killed does not affect the next one", async () => {
  const project = projectOf(APP);
  const environment = { ...indexEnvironment(wheelHouse({ name: "left" })), PATH: await pathWithUv() };
  const whole = await built(projectOf(APP), { environment });
  const { path, log } = endlessUv();
  const child = flash(project, ["build"], { PATH: path });
  const pid = await installing(log);
  child.kill("SIGKILL");
  await once(child, "close");
  process.kill(pid, "SIGKILL");
  expect(outputs(project)).toEqual([expect.stringMatching(/^\.build-/)]);
  const after = await built(project, { environment });
  expect(after.artifact.sha256).toBe(whole.artifact.sha256);
  expect(outputs(project)).toEqual(["artifact.tar.gz", "flash_manifest.json"]);
});

test("concurrent builds do not interfere, and Ctrl+C ends a build with its children", async () => {
  const project = projectOf(APP);
  const { path, log } = endlessUv();
  const other = flash(project, ["build"], { PATH: path });
  const errors = text(other.stderr);
  const pid = await installing(log);
  rmSync(join(project, "requirements.txt"));
  await built(project);
  expect(outputs(project)).toEqual([
    expect.stringMatching(/^\.build-/),
    "artifact.tar.gz",
    "flash_manifest.json",
  ]);
  other.kill("SIGINT");
  const [exitCode] = await once(other, "close");
  expect(exitCode).toBe(130);
  expect(isAlive(pid)).toBe(false);
  expect(outputs(project)).toEqual(["artifact.tar.gz", "flash_manifest.json"]);
  expect(await errors).toContain("Cancelled.");
});

test("200 MB of dependencies are installed and packed with visible progress", async () => {
  const names = ["one", "two", "three", "four"];
  const house = wheelHouse(...names.map((name) => ({ name, ballastBytes: 50_000_000 })));
  const project = projectOf({ "app.py": HELLO, "requirements.txt": names.join("\n") });
  const child = flash(project, ["build", "--json"], indexEnvironment(house));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const said = JSON.parse(output);
  expect(said).toMatchObject({ endpoints: ["hello"], packages: names, excluded: [] });
  const listed = tar(["-tvzf", join(project, said.artifact.path)]);
  for (const name of names) expect(listed).toMatch(new RegExp(` 50000000 .* ${name}_ballast\\.bin`));
  expect(errors).toMatch(/✓ .*\b4\b/);
  expect(errors).toMatch(/✓ .*\d+ kB/);
});
