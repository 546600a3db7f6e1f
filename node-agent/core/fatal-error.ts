/** Exit code of an agent that the edge will not take back: whoever keeps it running should not start it again. */
export const FATAL_EXIT_CODE = 78;

/** The edge does not want this host, and trying again would not help. */
export class FatalError extends Error {
  override readonly name = "Refusal";
}
