/** How long to wait, and waiting no longer than that. */

/** The `failures`th wait in a row: doubles from the base to the cap; `random` in [0, 1] spreads it over the upper half. */
export function retryDelayMs(
  failures: number,
  policy: { readonly baseMs: number; readonly capMs: number },
  random = 1,
): number {
  const whole = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(whole / 2 + (whole / 2) * random);
}

/** Settles like the work, or resolves to `late` after `limitMs`; the work itself goes on. */
export function within<T, Late>(limitMs: number, work: Promise<T>, late: Late): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late), limitMs);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
