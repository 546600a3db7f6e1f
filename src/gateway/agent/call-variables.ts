/** What a worker needs to call others of its flash environment; made for the answer that hands it over. */
import { environmentKey } from "../../auth/environment-key.ts";
import type { Assignment } from "../../contract/agent.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../../failure-log.ts";

export type Called = { readonly env: Assignment["env"]; readonly masked: readonly string[] };

export const NO_CALLS: Called = { env: {}, masked: [] };

/** So that a missing key ring is told once, and not with every answer. */
let wasTold = false;

export class CallVariables {
  readonly #env: Env;
  readonly #origin: string;

  /** `origin` is where workers find the edge. */
  constructor(env: Env, origin: string) {
    this.#env = env;
    this.#origin = origin;
  }

  /** Without a key ring there are none: the worker runs, and its calls are refused. */
  async of(environmentId: string): Promise<Called> {
    const key = await environmentKey(this.#env, environmentId).catch((error: unknown) => {
      logFailure("key_ring_unreadable", {}, error);
      return undefined;
    });
    if (key === undefined) {
      tellOnce(environmentId);
      return NO_CALLS;
    }
    // Clients know it by the one name or the other.
    return {
      env: { SVC_API_KEY: key, RUNPOD_API_KEY: key, EDGERUN_URL: this.#origin },
      masked: [key],
    };
  }
}

function tellOnce(flashEnvironmentId: string): void {
  if (wasTold) return;
  wasTold = true;
  const cause = new Error(
    "Workers that call others of their environment get no key, since ENCRYPTION_KEYS is not configured.",
  );
  logFailure("environment_key_missing", { flashEnvironmentId }, cause);
}
