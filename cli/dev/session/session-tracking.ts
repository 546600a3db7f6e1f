/** Records a session in `.flash/resources.pkl`, so that it is found after a crash. */
import { errorMessage } from "../../../src/std/errors.ts";
import type { Cli } from "../../core/cli.ts";
import type { Service } from "../../service/service.ts";
import type { OpenedSession } from "../../service/flash-operations.ts";
import type { Owner } from "../../project/process-owner.ts";
import {
  changeTracked,
  SESSION_TYPE,
  type Tracked,
  withLiveEndpoint,
  withoutIds,
} from "../../project/tracked-resources.ts";

type LiveEndpointFacts = {
  readonly id: string;
  readonly name: string;
  readonly type: "QB" | "LB";
  readonly configurationHash: string;
};

/** A failure to write is shown once, and the session continues. */
export class SessionTracking {
  readonly #cli: Cli;
  readonly #app: string;
  readonly #service: string;
  readonly #owner: Owner;
  #hasFailed = false;

  constructor(cli: Cli, service: Service, app: string, owner: Owner) {
    this.#cli = cli;
    this.#app = app;
    this.#service = service.url;
    this.#owner = owner;
  }

  async session({ id, name }: OpenedSession): Promise<void> {
    const entry = { id, name, app: this.#app, service: this.#service, owner: this.#owner };
    await this.#change((tracked) => ({ ...tracked, [`${SESSION_TYPE}:${name}`]: entry }));
  }

  async endpoint(session: OpenedSession, { type, ...facts }: LiveEndpointFacts): Promise<void> {
    await this.#change((tracked) => withLiveEndpoint(tracked, type, { ...facts, session: session.id }));
  }

  /** Removes the endpoints and sessions with these ids. */
  async gone(ids: readonly string[]): Promise<void> {
    await this.#change((tracked) => withoutIds(tracked, new Set(ids)));
  }

  async #change(change: (tracked: Tracked) => Tracked): Promise<void> {
    try {
      await changeTracked(this.#cli.directory, change);
    } catch (error) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const reason = errorMessage(error);
      this.#cli.terminal.warn(
        `Live endpoints cannot be tracked, so they are not cleaned up after a crash: ${reason}`,
      );
    }
  }
}
