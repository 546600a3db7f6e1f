import { test } from "vitest";
import { EXIT_CANNOT_RUN } from "../../src/std/failure.ts";
import { RemoteCommand } from "./remote-command.ts";

const ARGUMENT = "x".repeat(40_000);

test.for([
  { what: "more than a message holds", command: [ARGUMENT, ARGUMENT] },
  { what: "an argument that is too long", command: ["echo", ARGUMENT + ARGUMENT] },
  { what: "too many arguments", command: Array.from({ length: 1_001 }, () => "x") },
])("a command is not sent that has $what", async ({ command }, { expect }) => {
  const service = { url: "http://127.0.0.1:1", apiKey: "key" };
  const started = RemoteCommand.start({ service, containerId: "pod1", command, onOutput() {} });
  await expect(started).rejects.toMatchObject({ exitCode: EXIT_CANNOT_RUN });
});
