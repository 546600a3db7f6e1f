/** Reads a comma list, and adds it to what the option brought before. */
export function listOption(value: string, before: readonly string[]): readonly string[] {
  const words = value.split(",").map((word) => word.trim());
  return [...before, ...words.filter((word) => word !== "")];
}
