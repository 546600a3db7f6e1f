/**
 * The guard outlives this process by a moment. A killed process cannot clean up, and the Workers runtime keeps serving its
 * port without its parent; so the guard holds one end of a pipe, and when that closes it ends the processes in the
 * last list that it received.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { identify, type ProcessIdentity } from "./process-identity.ts";

/** A process to end, and the time that it gets to exit before it is killed. */
export type Guarded = ProcessIdentity & { readonly graceMs: number };

/** guard-main.ts, for when it runs unbundled. */
const GUARD_MAIN = fileURLToPath(new URL("./guard-main.ts", import.meta.url));

export class Guard {
  readonly #child: ChildProcessByStdio<Writable, null, null>;
  readonly #guarded = new Map<string, Guarded>();

  constructor(program = GUARD_MAIN) {
    this.#child = spawn(process.execPath, [program], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#child.stdin.on("error", () => {}); // the guard was killed: nothing can be done, and nothing is lost yet
    this.#child.unref();
  }

  identity(): ProcessIdentity | null {
    return this.#child.pid === undefined ? null : (identify(this.#child.pid) ?? null);
  }

  /** From now on the process of this name is `pid`. */
  watch(name: string, pid: number, graceMs: number): void {
    const identity = identify(pid);
    if (identity) this.#guarded.set(name, { ...identity, graceMs });
    else this.#guarded.delete(name);
    this.#send();
  }

  /** Ends the guard after all processes have ended by themselves. */
  dismiss(): void {
    this.#guarded.clear();
    this.#send();
    this.#child.stdin.end();
  }

  #send(): void {
    this.#child.stdin.write(`${JSON.stringify([...this.#guarded.values()])}\n`);
  }
}
