/** What an endpoint states to Fleet while capacity is short; sent again until Fleet has it, and at most so often. */
import type { CapacityStatement } from "../../durable/ports.ts";

/** Least time between two statements: an endpoint that is busy changes its mind all the time. */
const STATEMENT_INTERVAL_MS = 250;
const RESEND_AFTER_MS = 2_000;

export class CapacityStatements {
  #present: CapacityStatement | null = null;
  #sent: CapacityStatement | null = null;
  #sentAt = 0;
  #isSending = false;

  /** Null while capacity is not short. */
  update(statement: CapacityStatement | null): void {
    if (isSame(statement, this.#present)) return;
    this.#present = statement;
    if (statement === null) this.#sent = null;
  }

  isDue(now: number): boolean {
    return this.#isUnsent && !this.#isSending && now >= this.#dueAt;
  }

  /** When to send although nothing happens; null for never. */
  nextAt(now: number): number | null {
    if (!this.#isUnsent) return null;
    return this.#isSending ? now + RESEND_AFTER_MS : Math.max(now, this.#dueAt);
  }

  async send(send: (statement: CapacityStatement) => Promise<void>, now: number): Promise<void> {
    const statement = this.#present;
    if (!statement) return;
    this.#isSending = true;
    this.#sentAt = now;
    try {
      await send(statement);
      this.#sent = statement;
    } catch {
      // Fleet is unreachable for now; the alarm repeats the call.
    } finally {
      this.#isSending = false;
    }
  }

  get #isUnsent(): boolean {
    return this.#present !== null && !isSame(this.#present, this.#sent);
  }

  get #dueAt(): number {
    return this.#sentAt + STATEMENT_INTERVAL_MS;
  }
}

function isSame(a: CapacityStatement | null, b: CapacityStatement | null): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
