/** How much of a whole there is, in the unit that fits the whole: "12 of 40 MB". */
export function amountOf(bytes: number, totalBytes: number, isMore = false): string {
  const unit = UNITS.find((one) => totalBytes >= one.bytes) ?? { bytes: 1, name: "bytes", digits: 0 };
  const inUnit = (count: number): string => (count / unit.bytes).toFixed(unit.digits);
  return `${inUnit(bytes)} of ${isMore ? "more than " : ""}${inUnit(totalBytes)} ${unit.name}`;
}

const UNITS = [
  { bytes: 1e9, name: "GB", digits: 1 },
  { bytes: 1e6, name: "MB", digits: 0 },
  { bytes: 1e3, name: "kB", digits: 0 },
] as const;
