/** A process that cleans up after a rig, even when the process that owned the rig was killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./sweeper-main.ts", import.meta.url));

export class Sweeper implements AsyncDisposable {
  readonly #child;
  readonly #ended: Promise<unknown>;

  constructor(rigName: string) {
    this.#child = spawn(process.execPath, [MAIN, rigName], {
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    this.#child.stdin.on("error", () => {});
    this.#ended = once(this.#child, "exit");
  }

  /** Resolves when nothing of the rig is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}
