import type { Principal } from "../auth/principal.ts";
import type { Database } from "../db/database.ts";
import type { Env } from "../env.ts";

/** What every resolver gets: who asks, when, and where things are kept. */
export type RequestContext = {
  readonly env: Env;
  readonly db: Database;
  readonly principal: Principal;
  readonly now: number;
};
