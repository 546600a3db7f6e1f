/** When a worker came up. */
import type { StartStep } from "../../contract/agent/agent.ts";

/** Epoch ms; absent or null for what did not happen or is not known. */
export type WorkerStart = { readonly [Step in `${StartStep}At`]?: number | null };

/** Two reports of one moment differ by what their ways took, and a report may come later than what follows it. */
export const JITTER_MS = 2_000;

/** The start of a worker after a report of it: a time changes only when its event happened again. */
export function mergeStart(stored: WorkerStart | null, reported: WorkerStart | null): WorkerStart | null {
  if (!stored || !reported) return stored ?? reported;
  const merged: Record<string, number> = {};
  for (const step of Object.keys({ ...stored, ...reported }) as (keyof WorkerStart)[]) {
    const [before, now] = [stored[step] ?? null, reported[step] ?? null];
    const at = now !== null && (before === null || now > before + JITTER_MS) ? now : before;
    if (at !== null) merged[step] = at;
  }
  const isSame = Object.entries(merged).every(([step, at]) => stored[step as keyof WorkerStart] === at);
  return isSame ? stored : merged;
}
