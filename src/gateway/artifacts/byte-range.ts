/** The Range header of HTTP, as far as it asks for one part. */

export type RequestedRange =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly from: number; readonly length: number }
  | { readonly kind: "unsatisfiable" };

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;
const WHOLE: RequestedRange = { kind: "whole" };

/** The requested part of `sizeBytes`; several parts, other units and an invalid header mean the whole. */
export function readRange(header: string | undefined, sizeBytes: number): RequestedRange {
  const [, first = "", last = ""] = ONE_RANGE.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return WHOLE;
  if (first === "") return partOf(Math.max(0, sizeBytes - Number(last)), sizeBytes - 1, sizeBytes);
  if (last !== "" && Number(last) < Number(first)) return WHOLE;
  return partOf(
    Number(first),
    last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1),
    sizeBytes,
  );
}

function partOf(from: number, to: number, sizeBytes: number): RequestedRange {
  return from < sizeBytes && from <= to
    ? { kind: "part", from, length: to - from + 1 }
    : { kind: "unsatisfiable" };
}
