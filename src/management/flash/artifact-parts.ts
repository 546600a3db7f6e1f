/** How an artifact is cut into the parts in which it is uploaded: its size alone decides it. */

/** Bytes of each part of an upload but the last: R2 wants equal parts, and small ones suit a small artifact. */
export const ARTIFACT_PART_BYTES = { min: 8 * 1024 * 1024, max: 64 * 1024 * 1024 } as const;
/** Into which an artifact is cut, as long as that makes neither larger nor smaller ones. */
const ARTIFACT_PARTS_TARGET = 16;

const MEBIBYTE = 1024 * 1024;

/** Bytes of each part but the last. */
export function partBytesOf(sizeBytes: number): number {
  const targetBytes = Math.ceil(sizeBytes / ARTIFACT_PARTS_TARGET / MEBIBYTE) * MEBIBYTE;
  return Math.min(Math.max(targetBytes, ARTIFACT_PART_BYTES.min), ARTIFACT_PART_BYTES.max);
}

export function countOfParts(sizeBytes: number): number {
  return Math.ceil(sizeBytes / partBytesOf(sizeBytes));
}

/** Bytes of the part of this number, from 1; none when there is no such part. */
export function bytesOfPart(sizeBytes: number, number: number): number | undefined {
  const count = countOfParts(sizeBytes);
  if (!Number.isInteger(number) || number < 1 || number > count) return undefined;
  const partBytes = partBytesOf(sizeBytes);
  return number < count ? partBytes : sizeBytes - (count - 1) * partBytes;
}
