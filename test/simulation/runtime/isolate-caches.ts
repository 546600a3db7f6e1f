/**
 * The caches that modules keep for as long as their isolate lives. A new world, and a crash of the script, begin with
 * empty ones; caches that objects make for themselves end with the object.
 */
import * as boundedMap from "../../../src/domain/limits/bounded-map.ts";
import * as countedWindows from "../../../src/domain/limits/counted-windows.ts";
import { World } from "../world/world.ts";

type Class = new (...values: never[]) => object;

const resets: (() => void)[] = [];

/** Everything that modules have remembered is forgotten. */
export function emptyCaches(): void {
  for (const reset of resets) reset();
}

/** The class, of which instances that modules make begin again with nothing. */
function forgetful<Made extends Class>(original: Made): Made {
  return new Proxy(original, {
    construct(made, values) {
      if (World.current()) return Reflect.construct(made, values) as object;
      let instance = Reflect.construct(made, values) as object;
      resets.push(() => (instance = Reflect.construct(made, values) as object));
      return new Proxy(instance, {
        get(_, property) {
          const value: unknown = Reflect.get(instance, property, instance);
          return typeof value === "function" ? value.bind(instance) : value;
        },
      });
    },
  });
}

export const BoundedMap = forgetful(boundedMap.BoundedMap);
export const CountedWindows = forgetful(countedWindows.CountedWindows);
export const { clientNetwork } = countedWindows;
