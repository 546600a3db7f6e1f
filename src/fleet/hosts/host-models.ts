import type { HostModel } from "../../contract/model.ts";

/** The models that hosts have. In memory only: the next sync reports them again. */
export class HostModels {
  readonly #latest = new Map<string, readonly HostModel[]>();

  record(hostId: string, models: readonly HostModel[]): void {
    this.#latest.set(hostId, models);
  }

  /** Null while that is not known. */
  of(hostId: string): readonly HostModel[] | null {
    return this.#latest.get(hostId) ?? null;
  }

  forget(hostId: string): void {
    this.#latest.delete(hostId);
  }
}
