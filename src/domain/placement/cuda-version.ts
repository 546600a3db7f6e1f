/** Below 0 when the first version is the older one, 0 when both are the same; `12` counts as `12.0`. */
export function compareCudaVersions(one: string, other: string): number {
  const [major = 0, minor = 0] = one.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major - otherMajor || minor - otherMinor;
}
