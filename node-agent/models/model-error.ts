/** Why a model is not on this host; the message is a whole sentence for users. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  /** Another attempt may succeed, and a copy of an earlier time is better than none. */
  readonly isTransient: boolean;

  constructor(message: string, { isTransient = false } = {}) {
    super(message);
    this.isTransient = isTransient;
  }
}
