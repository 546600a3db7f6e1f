const encoder = new TextEncoder();

/** Compares two texts in a time that tells nothing but whether their lengths differ. */
export function timingSafeEqual(one: string, other: string): boolean {
  const [left, right] = [encoder.encode(one), encoder.encode(other)];
  return left.byteLength === right.byteLength && crypto.subtle.timingSafeEqual(left, right);
}
