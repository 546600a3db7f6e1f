import { stripVTControlCharacters } from "node:util";

/** Text of others, such as a container, without what would move the cursor, set colours or rename the window. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/(?![\t\n])\p{Cc}/gu, "");
}
