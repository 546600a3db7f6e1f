/** The hand of a host: the attempts that run there and whose rows still say queued (ledger, L4). */

/** How the names of its facts begin; the id of the host follows. */
export const HAND = "hand:";

export type Hand = readonly (readonly [seq: number, workerId: string, startedAt: number])[];

export type HandedOut = { readonly hostId: string; readonly workerId: string; readonly startedAt: number };

/** Who has which job, as all hands together say. */
export function handedOutIn(hands: readonly { name: string; value: Hand }[]): Map<number, HandedOut> {
  const claims = hands.flatMap(({ name, value }) =>
    value.map(
      ([seq, workerId, startedAt]) =>
        [seq, { hostId: name.slice(HAND.length), workerId, startedAt }] as const,
    ),
  );
  return new Map(claims);
}
