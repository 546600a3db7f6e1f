/** What a worker needs to call others of its flash environment and to be sent code in a session, and a pod to end itself; made for the answer that hands it over. */
import { liveToken, environmentKey, podKey } from "../../auth/derived-keys.ts";
import type { Assignment } from "../../contract/agent/agent.ts";
import { LIVE_TOKEN_VARIABLE } from "../../contract/flash/flash-live.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import type { Blueprint } from "./blueprint.ts";

export type Called = { readonly env: Assignment["env"]; readonly masked: readonly string[] };

const NO_CALLS: Called = { env: {}, masked: [] };

/** So that a missing key ring is logged once, and not with every answer. */
let wasLogged = false;

export class CallVariables {
  readonly #env: Env;
  readonly #origin: string;

  /** `origin` is where workers find the edge. */
  constructor(env: Env, origin: string) {
    this.#env = env;
    this.#origin = origin;
  }

  /** Without a key ring there are none: the worker runs, and its calls are refused. */
  async of({
    callsWithin: environmentId,
    isLive,
    podId,
  }: Pick<Blueprint, "callsWithin" | "isLive" | "podId">): Promise<Called> {
    if (podId !== undefined) return await this.#ofPod(podId);
    if (environmentId === undefined) return NO_CALLS;
    const [key, token] = await this.#derived(
      isLive ? [environmentKey, liveToken] : [environmentKey],
      environmentId,
    );
    if (key === undefined) {
      logOnce(environmentId);
      return NO_CALLS;
    }
    // Clients know it by the one name or the other.
    const env = { SVC_API_KEY: key, RUNPOD_API_KEY: key, EDGERUN_URL: this.#origin };
    if (token === undefined) return { env, masked: [key] };
    return { env: { ...env, [LIVE_TOKEN_VARIABLE]: token }, masked: [key, token] };
  }

  async #ofPod(podId: string): Promise<Called> {
    const [key] = await this.#derived([podKey], podId);
    if (key === undefined) return NO_CALLS;
    return { env: { RUNPOD_API_KEY: key, EDGERUN_URL: this.#origin }, masked: [key] };
  }

  async #derived(
    ways: readonly (typeof environmentKey)[],
    id: string,
  ): Promise<readonly (string | undefined)[]> {
    return await Promise.all(ways.map(async (derive) => derive(this.#env, id))).catch((error: unknown) => {
      logFailure("encryption_keys_unreadable", {}, error);
      return [];
    });
  }
}

function logOnce(flashEnvironmentId: string): void {
  if (wasLogged) return;
  wasLogged = true;
  const cause = new Error(
    "Workers that call others of their environment get no key, since ENCRYPTION_KEYS is not configured.",
  );
  logFailure("environment_key_missing", { flashEnvironmentId }, cause);
}
