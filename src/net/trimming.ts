/**
 * Trims one of some characters off a text, in one pass. A regular expression such as `/=+$/` looks from every
 * character to the end of its run, which is quadratic in a long run that does not end the text.
 */

/** The text without the characters of `set` at its end. */
export function trimEndOf(value: string, set: string): string {
  let end = value.length;
  while (end > 0 && set.includes(value.charAt(end - 1))) end -= 1;
  return value.slice(0, end);
}

/** The text without the characters of `set` at its beginning and end. */
export function trimOf(value: string, set: string): string {
  const trimmed = trimEndOf(value, set);
  let start = 0;
  while (start < trimmed.length && set.includes(trimmed.charAt(start))) start += 1;
  return trimmed.slice(start);
}
