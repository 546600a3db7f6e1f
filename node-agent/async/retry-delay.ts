/** Doubles from the base to the cap; `random` in [0, 1) spreads the callers over the upper half. */
export function retryDelayMs(
  failures: number,
  policy: { readonly baseMs: number; readonly capMs: number },
  random: number,
): number {
  const whole = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(whole / 2 + (whole / 2) * random);
}
