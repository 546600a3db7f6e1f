/** Tables as text/csv (RFC 4180). */

type Cell = string | number;

/** With a line of the columns' names; lines end with CRLF. */
export function toCsv<Row extends Readonly<Record<string, Cell>>>(
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column] ?? "")).join(","));
  return [columns.join(","), ...lines, ""].join("\r\n");
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before it. */
function toCell(value: Cell): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
