import { Failure } from "../../src/std/failure.ts";

/** A command in a container has ended with this exit code, which becomes that of this process without a message. */
export class CommandExit extends Failure {
  constructor(exitCode: number) {
    super("", [], exitCode);
  }
}
