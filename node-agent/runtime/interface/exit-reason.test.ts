import { test } from "vitest";
import { exitCodeOfSignal, exitReason } from "./exit-reason.ts";

test("an exit reason names the exit code, the signal or the lack of memory", ({ expect }) => {
  expect(exitReason({ exitCode: 0 })).toMatchInlineSnapshot(
    `"exited with code 0: its start command came to its end"`,
  );
  expect(exitReason({ exitCode: 137, isRemoved: true })).toMatchInlineSnapshot(
    `"killed by signal SIGKILL (exit code 137); its container was removed from outside"`,
  );
  expect(exitReason({ exitCode: 3 })).toMatchInlineSnapshot(`"exited with code 3"`);
  expect(exitReason({ exitCode: 127 })).toMatchInlineSnapshot(
    `"exited with code 127: the command was not found"`,
  );
  expect(exitReason({ exitCode: exitCodeOfSignal("SIGKILL") })).toMatchInlineSnapshot(
    `"killed by signal SIGKILL (exit code 137)"`,
  );
  expect(exitReason({ exitCode: 137, isOutOfMemory: true })).toMatchInlineSnapshot(
    `"ran out of memory and was killed (exit code 137)"`,
  );
  expect(
    exitReason({ exitCode: 137, isOutOfMemory: true, memoryLimitBytes: 16 * 1024 * 1024 }),
  ).toMatchInlineSnapshot(`"ran out of memory (it may have 16 MB) and was killed (exit code 137)"`);
  expect(exitReason({ exitCode: null })).toMatchInlineSnapshot(`"ended, exit code unknown"`);
});

test("an exit code above 128 that belongs to no signal is only a number", ({ expect }) => {
  expect(exitReason({ exitCode: 255 })).toMatchInlineSnapshot(`"exited with code 255"`);
});
