/** Sizes as operators set them and as users read them: in GB of 1,000,000,000 bytes. */

const GIGABYTE = 1_000_000_000;

/** The value of an operator's variable in bytes, if it is a sensible size. */
export function bytesOfVariable(gigabytes: string | undefined, defaultGigabytes: number): number {
  const size = Number(gigabytes ?? Number.NaN);
  return (size > 0 ? size : defaultGigabytes) * GIGABYTE;
}

export function inGigabytes(bytes: number): string {
  return (bytes / GIGABYTE).toFixed(2);
}
