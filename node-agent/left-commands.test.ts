import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { SILENT_LOG } from "./core/log.ts";
import { readProcess } from "./host/process-table.ts";
import { Journal } from "./journal/journal.ts";
import type { CommandRecord } from "./journal/command-records.ts";
import { LeftCommands } from "./left-commands.ts";

/** A command that runs, and the record of it. */
async function startCommand(): Promise<{ readonly child: ChildProcess; readonly record: CommandRecord }> {
  const child = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  return { child, record: { pid, start: (await readProcess(pid))?.start ?? "", namespace: null } };
}

test("what an agent that was killed has left is ended by the next one, and nothing else", async ({
  expect,
}) => {
  const stateDir = mkdtempSync(join(tmpdir(), "edgerun-journal-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const [left, ended, successor] = await Promise.all([startCommand(), startCommand(), startCommand()]);
  const first = new Journal(stateDir);
  const before = new LeftCommands(first.commands, SILENT_LOG);
  before.started(left.record);
  before.started(ended.record);
  before.ended(ended.record);
  before.started({ ...successor.record, start: "another process with this pid" });
  first.close(); // as the end of the process does

  const second = new Journal(stateDir);
  onTestFinished(() => second.close());
  const exit = once(left.child, "exit");
  const commands = new LeftCommands(second.commands, SILENT_LOG);
  await commands.endAll();
  await exit;
  const isAlive = ({ child }: { child: ChildProcess }) =>
    child.exitCode === null && child.signalCode === null;
  expect([left, ended, successor].map(isAlive)).toEqual([false, true, true]);
  expect(second.commands.items()).toEqual([]);
});
