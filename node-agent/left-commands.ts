/** Commands in containers that an agent which was killed has left there: nobody can reach them any more. */
import { errorMessage } from "../src/std/errors.ts";
import type { AgentLog } from "./core/log.ts";
import { killSession } from "./host/process-session.ts";
import { namespaceOf, readProcess } from "./host/process-table.ts";
import type { CommandRecord, CommandRecords } from "./journal/command-records.ts";

export class LeftCommands {
  readonly #records: CommandRecords;
  readonly #log: AgentLog;

  constructor(records: CommandRecords, log: AgentLog) {
    this.#records = records;
    this.#log = log;
  }

  started(command: CommandRecord): void {
    this.#record((records) => records.save(command));
  }

  ended(command: CommandRecord): void {
    this.#record((records) => records.remove(command));
  }

  /** A command that cannot be recorded runs all the same. */
  #record(write: (records: CommandRecords) => void): void {
    try {
      write(this.#records);
    } catch (error) {
      this.#log.warn("command_not_recorded", { reason: errorMessage(error) });
    }
  }

  /** Ends those that an earlier agent has started, with all that has not left their sessions. */
  async endAll(): Promise<void> {
    await Promise.all(this.#records.items().map((command) => this.#end(command)));
  }

  async #end(command: CommandRecord): Promise<void> {
    const { pid, start, namespace } = command;
    const mayEnd = async (member: number) => namespace === null || (await namespaceOf(member)) === namespace;
    try {
      const isThere = (await readProcess(pid))?.start === start;
      if ((await killSession(command, mayEnd)) && isThere) this.#log.info("left_command_ended", { pid });
      this.ended(command);
    } catch (error) {
      this.#log.warn("left_command_not_ended", { pid, reason: errorMessage(error) });
    }
  }
}
