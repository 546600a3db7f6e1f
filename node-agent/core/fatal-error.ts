/** Exit code of an agent that the edge rejects for good: its supervisor must not restart it. */
export const FATAL_EXIT_CODE = 78;

/** The agent cannot run here, and a restart would not help. */
export class FatalError extends Error {
  override readonly name = "Refusal";
}
