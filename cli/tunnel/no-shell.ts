/** A container whose image has no shell: Docker's own words for it are those of its runtime. */
import { EXIT_CANNOT_RUN, Failure } from "../../src/std/failure.ts";

const NO_SHELL = /exec: "sh": /;

/** The error of a command that begins with `sh`, in words for users where there is no `sh`. */
export function withoutShell(error: unknown, containerId: string): unknown {
  if (!(error instanceof Failure) || !NO_SHELL.test(error.message)) return error;
  return new Failure(
    `There is no shell (sh) in the image of ${containerId}.`,
    [`Run a program that is in it: edgerun exec ${containerId} -- <program>`],
    EXIT_CANNOT_RUN,
  );
}
