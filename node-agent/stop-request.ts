import { fstatSync } from "node:fs";

export type StopReason = "signal" | "parent_gone" | "unauthorized";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Waits for whatever asks this process to stop. A second signal ends it at once, but not one that must take
 * its workers with it: no other process would end them.
 */
export class StopRequest {
  readonly #stopped = Promise.withResolvers<StopReason>();
  readonly #aborted = new AbortController();

  constructor({ isEphemeral }: { isEphemeral: boolean }) {
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (this.#aborted.signal.aborted && !isEphemeral) process.exit(130);
        this.request("signal");
      });
    }
    if (isEphemeral && isPipe(0)) this.#watchParent();
  }

  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  request(reason: StopReason): void {
    if (this.#aborted.signal.aborted) return;
    process.stdin.destroy(); // it would keep the process alive
    this.#stopped.resolve(reason);
    this.#aborted.abort();
  }

  wait(): Promise<StopReason> {
    return this.#stopped.promise;
  }

  /** The parent has the other end of this process's standard input; it closes when the parent dies. */
  #watchParent(): void {
    const gone = () => this.request("parent_gone");
    process.stdin.once("end", gone).once("close", gone).once("error", gone);
    process.stdin.resume();
  }
}

function isPipe(descriptor: number): boolean {
  const status = fstatSync(descriptor);
  return status.isFIFO() || status.isSocket();
}
