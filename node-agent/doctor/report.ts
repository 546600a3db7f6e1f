import type { Finding } from "./checks.ts";

const LABELS = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

/** The findings for people: one line each, and below it how to mend it. */
export function reportLines(findings: readonly Finding[]): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, level, text, fix }) => [
    `${LABELS[level]}  ${check.padEnd(width)}  ${text}`,
    ...(fix === undefined ? [] : [`${" ".repeat(width + 8)}→ ${fix}`]),
  ]);
}

/** 0 unless something keeps this host from working. */
export function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some(({ level }) => level === "fail") ? 1 : 0;
}
