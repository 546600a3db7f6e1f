/** One small fault of the code that a test must notice. */
export type Mutant = {
  readonly id: string;
  /** Source that occurs exactly once below `src` and `node-agent`, however it is broken into lines. */
  readonly snippet: string;
  readonly replacement: string;
  /** Parts of the names of test files, the quickest first. */
  readonly tests: readonly string[];
  /** Why no test can notice it. */
  readonly equivalent?: string;
  /** Why it only ever makes a test hang. */
  readonly hangs?: string;
};

export const mutant = (id: string, snippet: string, replacement: string, ...tests: string[]): Mutant => ({
  ...{ id, snippet, replacement, tests },
});

/** A mutant that no test can notice, and why. */
export const equivalent = (why: string, entry: Mutant): Mutant => ({ ...entry, equivalent: why });

/** A mutant that a test can notice only by hanging. */
export const hanging = (why: string, entry: Mutant): Mutant => ({ ...entry, hangs: why });
