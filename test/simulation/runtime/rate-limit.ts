import {
  EDGE_RATE_LIMITS,
  rateLimitBinding,
  REQUESTS_PER_REPORT,
  type EdgeLimited,
} from "../../../src/contract/rate-limits.ts";
import type { World } from "../world/world.ts";

/** A rate limit binding: it counts what isolates report of a name within a window. */
class SimulatedRateLimit {
  readonly #world: World;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #counts = new Map<string, { readonly window: number; count: number }>();

  constructor(world: World, { requests, seconds }: { readonly requests: number; readonly seconds: number }) {
    this.#world = world;
    this.#limit = Math.ceil(requests / REQUESTS_PER_REPORT);
    this.#windowMs = seconds * 1_000;
  }

  async limit({ key }: { readonly key: string }): Promise<{ readonly success: boolean }> {
    const window = Math.floor(this.#world.now / this.#windowMs);
    const known = this.#counts.get(key);
    const counted = known?.window === window ? known : { window, count: 0 };
    counted.count += 1;
    this.#counts.set(key, counted);
    return { success: counted.count <= this.#limit };
  }
}

/** All bindings of this kind, by their names. */
export function rateLimitsOf(world: World): Readonly<Record<string, SimulatedRateLimit>> {
  const limits = Object.entries(EDGE_RATE_LIMITS).map(([limited, limit]) => [
    rateLimitBinding(limited as EdgeLimited),
    new SimulatedRateLimit(world, limit),
  ]);
  return Object.fromEntries(limits) as Readonly<Record<string, SimulatedRateLimit>>;
}
