/** Sequence numbers in some order, as runs of neighbours. */

export type SeqRange = readonly [from: number, count: number];
export type SeqRanges = readonly SeqRange[];

/** The ranges with one more number at their end. */
export function withSeqs(ranges: SeqRanges, seqs: Iterable<number>): SeqRanges {
  const runs = ranges.map(([from, count]): [number, number] => [from, count]);
  for (const seq of seqs) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === seq) last[1] += 1;
    else runs.push([seq, 1]);
  }
  return runs;
}

export function countSeqs(ranges: SeqRanges): number {
  return ranges.reduce((total, [, count]) => total + count, 0);
}

/** Finds the owner of a sequence number, among owners whose ranges do not overlap. */
export class SeqOwners<Owner> {
  readonly #runs: { readonly from: number; readonly end: number; readonly owner: Owner }[];

  constructor(owners: Iterable<readonly [Owner, SeqRanges]>) {
    this.#runs = [...owners]
      .flatMap(([owner, ranges]) => ranges.map(([from, count]) => ({ from, end: from + count, owner })))
      .toSorted((a, b) => a.from - b.from);
  }

  find(seq: number): Owner | undefined {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#runs[middle]?.end ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    const run = this.#runs[low];
    return run && run.from <= seq ? run.owner : undefined;
  }
}
