/** The hand of a host: the attempts that run there and whose rows still say queued (ledger, L4). */

/** How the names of its facts begin; the id of the host follows. */
export const CLAIMS_FACT_PREFIX = "claims:";

export type UnwrittenClaims = readonly (readonly [seq: number, workerId: string, startedAt: number])[];

export type UnwrittenClaim = {
  readonly hostId: string;
  readonly workerId: string;
  readonly startedAt: number;
};

/** Who has which job, as all hands together say. */
export function unwrittenClaimsIn(
  facts: readonly { name: string; value: UnwrittenClaims }[],
): Map<number, UnwrittenClaim> {
  const claims = facts.flatMap(({ name, value }) =>
    value.map(
      ([seq, workerId, startedAt]) =>
        [seq, { hostId: name.slice(CLAIMS_FACT_PREFIX.length), workerId, startedAt }] as const,
    ),
  );
  return new Map(claims);
}
