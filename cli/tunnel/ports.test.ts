import { test } from "vitest";
import { EXIT_USAGE } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { forwardPorts } from "./ports.ts";

test("a port of this computer that is named twice is refused before anything is opened", async ({
  expect,
}) => {
  const untouched = {} as Cli;
  const ports = [
    { local: 0, remote: 80 },
    { local: 0, remote: 81 },
    { local: 8_125, remote: 80 },
    { local: 8_125, remote: 81 },
  ];
  await expect(forwardPorts(untouched, "pod", ports)).rejects.toMatchObject({
    name: "Failure",
    exitCode: EXIT_USAGE,
  });
});
