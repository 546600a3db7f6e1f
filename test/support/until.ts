/** How tests wait for what nothing announces. */
import { setTimeout as delay } from "node:timers/promises";

const INTERVAL_MS = 50;
const WITHIN_MS = 15_000;

type Falsy = false | 0 | "" | null | undefined;

/**
 * Calls `look` until it gives a truthy value, and returns that value. A call that throws counts as "not yet". After
 * the deadline it throws an error that names `what` and what the last call gave.
 */
export async function until<Value>(
  look: () => Value | Promise<Value>,
  what: string,
  withinMs = WITHIN_MS,
): Promise<Exclude<Awaited<Value>, Falsy>> {
  const deadline = performance.now() + withinMs;
  using limit = new Limit(withinMs);
  let last: Seen = { message: "no call of it has ended" };
  do {
    const seen = await Promise.race([see(look), limit.reached]);
    if (seen === null) break;
    if ("value" in seen && seen.value) return seen.value as Exclude<Awaited<Value>, Falsy>;
    last = seen;
    await delay(INTERVAL_MS);
  } while (performance.now() < deadline);
  const cause = "error" in last ? last.error : undefined;
  throw new Error(`Waited ${withinMs} ms for ${what}; last seen: ${last.message}`, { cause });
}

type Seen = { readonly message: string; readonly value?: unknown; readonly error?: unknown };

async function see(look: () => unknown): Promise<Seen> {
  try {
    const value = await look();
    return { value, message: JSON.stringify(value) ?? String(value) };
  } catch (error) {
    return { error, message: String(error) };
  }
}

/** Ends the wait for a call that never ends. */
class Limit {
  readonly #abort = new AbortController();
  readonly reached: Promise<null>;

  constructor(afterMs: number) {
    this.reached = delay(afterMs, null, { signal: this.#abort.signal });
    this.reached.catch(() => {}); // when it is disposed of
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
  }
}
