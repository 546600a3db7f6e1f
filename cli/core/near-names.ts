/** Names that a mistyped one may have meant. */
const NAMES_MAX = 3;

/** Those that differ in a few letters, or contain what was written; the nearest first. */
export function namesNear(written: string, names: readonly string[]): readonly string[] {
  const wanted = written.toLowerCase();
  const most = wanted.length < 4 ? 1 : Math.max(2, Math.floor(wanted.length / 3));
  return [...new Set(names)]
    .map((name) => ({ name, distance: distanceOf(wanted, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, NAMES_MAX)
    .map(({ name }) => name);
}

/** How many letters differ; a name that contains what was written differs by one. */
function distanceOf(written: string, name: string): number {
  if (written.length > 1 && name.includes(written)) return 1;
  let before = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(written).entries()) {
    const row = [index + 1];
    for (let at = 1; at <= name.length; at += 1) {
      const changed = (before[at - 1] ?? 0) + (letter === name[at - 1] ? 0 : 1);
      row.push(Math.min(changed, (before[at] ?? 0) + 1, (row[at - 1] ?? 0) + 1));
    }
    before = row;
  }
  return before.at(-1) ?? 0;
}
