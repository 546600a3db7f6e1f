/** How much of a whole there is, in the unit that fits the whole: "12 of 40 MB". */
export function formatProgress(bytes: number, totalBytes: number, isMore = false): string {
  const { inUnit, name } = unitFor(totalBytes);
  return `${inUnit(bytes)} of ${isMore ? "more than " : ""}${inUnit(totalBytes)} ${name}`;
}

/** A size in readable form: "40 MB". */
export function formatSize(bytes: number): string {
  const { inUnit, name } = unitFor(bytes);
  return `${inUnit(bytes)} ${name}`;
}

const UNITS = [
  { bytes: 1e9, name: "GB", digits: 1 },
  { bytes: 1e6, name: "MB", digits: 0 },
  { bytes: 1e3, name: "kB", digits: 0 },
] as const;

function unitFor(totalBytes: number): { readonly inUnit: (bytes: number) => string; readonly name: string } {
  const unit = UNITS.find((one) => totalBytes >= one.bytes) ?? { bytes: 1, name: "bytes", digits: 0 };
  return { inUnit: (bytes) => (bytes / unit.bytes).toFixed(unit.digits), name: unit.name };
}
