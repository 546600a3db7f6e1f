/** The parent's side of a process of the benchmark: starts it, asks it, ends it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Answer, Commands, Question } from "./commands.ts";

type Waiter = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

/** A forked script that answers commands; `Served` is the type of what its `answerCommands` was given. */
export class Child<Served extends Commands> implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiters = new Map<number, Waiter>();
  #lastId = 0;

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.on("message", (answer: Answer) => this.#settle(answer));
    process.on("exit", (code, signal) => this.#lose(`it ended (${signal ?? code})`));
  }

  /** Resolves when the script is ready for commands. */
  static async start<Served extends Commands>(script: URL, settings: unknown): Promise<Child<Served>> {
    const process = fork(script, [JSON.stringify(settings)], { serialization: "advanced" });
    const ended = once(process, "exit").then(([code]) => {
      throw new Error(`${script.pathname} ended at its start with exit code ${String(code)}`);
    });
    ended.catch(() => {}); // it ends one day; only before it is ready does that matter
    await Promise.race([once(process, "message"), ended]);
    return new Child<Served>(process);
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error("the process did not start");
    return this.#process.pid;
  }

  async ask<Name extends keyof Served & string>(
    command: Name,
    argument: Parameters<Served[Name]>[0],
  ): Promise<Awaited<ReturnType<Served[Name]>>> {
    this.#lastId += 1;
    const question: Question = { id: this.#lastId, command, argument };
    const answered = new Promise<unknown>((resolve, reject) => {
      this.#waiters.set(question.id, { resolve, reject });
    });
    this.#process.send(question);
    return (await answered) as Awaited<ReturnType<Served[Name]>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  #settle({ id, ...outcome }: Answer): void {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    if ("error" in outcome) waiter?.reject(new Error(outcome.error));
    else waiter?.resolve(outcome.value);
  }

  #lose(why: string): void {
    for (const { reject } of this.#waiters.values()) reject(new Error(`No answer from a process: ${why}.`));
    this.#waiters.clear();
  }
}
