/** Waits in tests that run inside workerd. */

/** What a look saw when that is not yet what was awaited. */
class NotYet {
  readonly seen: unknown;

  constructor(seen: unknown) {
    this.seen = seen;
  }
}

export function notYet(seen: unknown): NotYet {
  return new NotYet(seen);
}

/** No wait of a test is longer: what goes wrong is told, before the time of the test is over. */
export const WAIT_LIMIT_MS = 20_000;

/**
 * Looks again and again until a look answers something. A look that answers `undefined`, `null`, `false` or
 * `notYet(…)`, or in which an assertion fails, is repeated; another error ends the wait. The clock of a test that
 * has replaced `Date` does not matter.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  withinMs = WAIT_LIMIT_MS,
): Promise<Exclude<T, NotYet | undefined | null | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await seenBy(look);
    if (!(seen instanceof NotYet)) return seen as Exclude<T, NotYet | undefined | null | false>;
    if (performance.now() > deadline) {
      throw new Error(`Waited ${withinMs} ms until ${what}. Seen last: ${textOf(seen.seen)}`);
    }
    await scheduler.wait(5);
  }
}

/** What a promise gives; throws when that takes too long. */
export async function soon<T>(promise: Promise<T>, what: string, withinMs = WAIT_LIMIT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Waited ${withinMs} ms until ${what}.`)), withinMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function seenBy(look: () => unknown): Promise<unknown> {
  try {
    const seen = await look();
    return seen === undefined || seen === null || seen === false ? notYet(seen) : seen;
  } catch (error) {
    if (error instanceof Error && error.name === "AssertionError") return notYet(error);
    throw error;
  }
}

function textOf(seen: unknown): string {
  return seen instanceof Error ? seen.message : (JSON.stringify(seen) ?? "undefined");
}
