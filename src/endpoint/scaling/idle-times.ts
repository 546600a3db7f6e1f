/** Since when workers are free; times are epoch ms. */
export type IdleTimes = {
  /** Since when there is no work at all; null while there is. */
  readonly idleSinceAt: number | null;
  readonly freeSince: readonly (readonly [workerId: string, at: number])[];
};

/** The clocks as a checkpoint has them: true as long as the work has the same mark. */
export type StoredIdleTimes = IdleTimes & { readonly mark: string };
