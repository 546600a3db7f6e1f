/** Reads a comma list, and adds it to what the option brought before. */
export function listOption(value: string, before: readonly string[]): readonly string[] {
  const names = value.split(",").map((word) => word.trim());
  return [...before, ...names.filter((word) => word !== "")];
}
