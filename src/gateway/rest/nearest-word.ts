/** The word that was most likely meant. */

/** The share of letters of a word that may be wrong. */
const SHARE_WRONG = 0.4;

/** The candidate most similar to a word; undefined where none is similar. */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  const [nearest] = candidates
    .map((other) => ({ other, edits: editsBetween(word.toLowerCase(), other.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits);
  return nearest && nearest.edits <= Math.max(1, word.length * SHARE_WRONG) ? nearest.other : undefined;
}

/** Letters to add, remove or change (Levenshtein). */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, letter] of Array.from(one).entries()) {
    const next = [at + 1];
    for (const [index, otherLetter] of Array.from(other).entries()) {
      const changed = (row[index] ?? 0) + Number(letter !== otherLetter);
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
