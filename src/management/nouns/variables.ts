import type { EnvironmentVariable } from "../../db/schema.ts";

/** Variables of both, each once; those of `over` win. */
export function mergeVariables(
  base: readonly EnvironmentVariable[],
  over: readonly EnvironmentVariable[],
): readonly EnvironmentVariable[] {
  const values = new Map([...base, ...over].map(({ key, value }) => [key, value]));
  return [...values].map(([key, value]) => ({ key, value }));
}
