/** A file that a handler of worker-script.mjs waits for: the test, and no clock, says when it goes on. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export class Gate {
  readonly file: string;

  constructor(directory: string) {
    this.file = join(directory, `gate-${randomUUID()}`);
  }

  open(): void {
    writeFileSync(this.file, "");
  }
}
