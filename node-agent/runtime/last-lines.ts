/** Last lines of a text, oldest first; the end of the text needs no line break. */
export function lastLinesOf(text: string, count: number): readonly string[] {
  if (count <= 0) return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.slice(-count);
}
