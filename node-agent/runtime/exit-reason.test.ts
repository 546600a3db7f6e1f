import { test } from "vitest";
import { exitCodeOfSignal, exitReason } from "./exit-reason.ts";

test("an exit reason names the exit code, the signal or the lack of memory", ({ expect }) => {
  expect(exitReason({ exitCode: 0 })).toBe("exited with code 0: its start command came to its end");
  expect(exitReason({ exitCode: 137, isRemoved: true })).toBe(
    "killed by signal SIGKILL (exit code 137); its container was removed from outside",
  );
  expect(exitReason({ exitCode: 3 })).toBe("exited with code 3");
  expect(exitReason({ exitCode: 127 })).toBe("exited with code 127: the command was not found");
  expect(exitReason({ exitCode: exitCodeOfSignal("SIGKILL") })).toBe(
    "killed by signal SIGKILL (exit code 137)",
  );
  expect(exitReason({ exitCode: 137, isOutOfMemory: true })).toBe(
    "ran out of memory and was killed (exit code 137)",
  );
  expect(exitReason({ exitCode: 137, isOutOfMemory: true, memoryLimitBytes: 16 * 1024 * 1024 })).toBe(
    "ran out of memory (it may have 16 MB) and was killed (exit code 137)",
  );
  expect(exitReason({ exitCode: null })).toBe("ended, exit code unknown");
});

test("an exit code above 128 that belongs to no signal is only a number", ({ expect }) => {
  expect(exitReason({ exitCode: 255 })).toBe("exited with code 255");
});
