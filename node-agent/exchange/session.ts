/** A process of the agent, as its exchanges name it to the edge. */
import { randomUUID } from "node:crypto";
import type { AgentLog } from "../core/log.ts";
import type { Journal } from "../journal/journal.ts";

const SETTING = "session";

export type Session = {
  readonly id: string;
  /** That of the process before, whose calls may still be on their way; undefined where none is known. */
  readonly previous: string | undefined;
};

/** Begins a session, and remembers it for the next process. */
export function beginSession(journal: Pick<Journal, "setting" | "saveSetting">, log: AgentLog): Session {
  const id = randomUUID();
  const previous = journal.setting(SETTING);
  try {
    journal.saveSetting(SETTING, id);
  } catch (error) {
    log.error("journal_failed", { setting: SETTING, reason: String(error) });
  }
  return { id, previous };
}
