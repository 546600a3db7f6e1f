/** Questions, in a real terminal. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inject, test } from "vitest";
import { CommandFixture } from "./support/flash-command.ts";
import { CONTROL_C, ENTER, talk } from "./support/terminal-dialog.ts";

const bundle = inject("flashBundle");

async function fixtureWithReadme(): Promise<CommandFixture> {
  const fixture = await CommandFixture.open(bundle);
  await fixture.write("README.md", "mine\n");
  return fixture;
}

function readme(fixture: CommandFixture): Promise<string> {
  return readFile(join(fixture.project, "README.md"), "utf8");
}

test("y overwrites the files that were listed", async ({ expect }) => {
  await using fixture = await fixtureWithReadme();
  const { screen, exitCode } = await talk(fixture, "flash init .", [{ see: "Overwrite them?", type: "y" }]);
  expect(screen).toContain("README.md");
  expect(screen).toMatch(/✓ .*\bdemo\b/);
  expect(exitCode).toBe(0);
  expect(await readme(fixture)).toMatch(/^# demo/);
});

test("Enter alone means no: nothing is written, and that is no failure", async ({ expect }) => {
  await using fixture = await fixtureWithReadme();
  const { screen, exitCode } = await talk(fixture, "flash init .", [{ see: "Overwrite them?", type: ENTER }]);
  expect(screen).toContain("Aborted; nothing was written.");
  expect(exitCode).toBe(0);
  expect(await readme(fixture)).toBe("mine\n");
});

test("Ctrl+C at a question ends with 130 and changes nothing", async ({ expect }) => {
  await using fixture = await fixtureWithReadme();
  const { screen, exitCode } = await talk(fixture, "flash init .", [
    { see: "Overwrite them?", type: CONTROL_C },
  ]);
  expect(screen).toContain("✗");
  expect(exitCode).toBe(130);
  expect(await readme(fixture)).toBe("mine\n");
});

test("SIGTERM at a question ends it like Ctrl+C", async ({ expect }) => {
  await using fixture = await fixtureWithReadme();
  const { screen, exitCode } = await talk(fixture, "flash init .", [
    { see: "Overwrite them?", signal: "SIGTERM" },
  ]);
  expect(screen).toContain("✗");
  expect(exitCode).toBe(130);
  expect(await readme(fixture)).toBe("mine\n");
});

test("in CI a question fails and names --yes", async ({ expect }) => {
  await using fixture = await fixtureWithReadme();
  const { screen, exitCode } = await talk(fixture, "env CI=true flash init .", []);
  expect(screen).toContain("--yes");
  expect(exitCode).toBe(1);
});
