import { test } from "vitest";
import { EXIT_CANNOT_RUN, Failure } from "../../src/std/failure.ts";
import { withoutShell } from "./no-shell.ts";

const DOCKER =
  'The command cannot be started: OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown';

test("that there is no shell is said without the words of Docker's runtime", ({ expect }) => {
  const error = withoutShell(new Failure(DOCKER, [], EXIT_CANNOT_RUN), "pod1");
  expect(error).toMatchObject({ exitCode: EXIT_CANNOT_RUN, message: expect.not.stringContaining("OCI") });
  expect((error as Failure).advice.join()).toContain("pod1");
});

test("other errors stay as they are", ({ expect }) => {
  const errors = [new Error(DOCKER), new Failure(DOCKER.replace('"sh"', '"ssh"')), undefined];
  expect(errors.map((error) => withoutShell(error, "pod1"))).toEqual(errors);
});
