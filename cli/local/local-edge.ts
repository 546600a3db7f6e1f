/** An edge and an agent on this computer, for as long as a command runs. */

export interface LocalEdge {
  readonly url: string;
  readonly apiKey: string;
  /** Ends both; nothing is left running. */
  close(): Promise<void>;
}
