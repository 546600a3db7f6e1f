/** What code has of objects: namespaces, and stubs, each of which is bound to the object as it is when first used. */
import type { SimulatedObject } from "./objects.ts";

/** What a stub of an object knows of it. */
export type StubUse = {
  /** How often the object had crashed when the stub was used first. */
  crashes: number | undefined;
};

/** `env.NAME` of a class of objects. */
export class SimulatedNamespace {
  readonly objects = new Map<string, SimulatedObject>();
  readonly #make: (name: string) => SimulatedObject;

  constructor(make: (name: string) => SimulatedObject) {
    this.#make = make;
  }

  getByName(name: string): unknown {
    return stubOf(this.object(name));
  }

  idFromName(name: string): { readonly name: string } {
    return { name };
  }

  get({ name }: { readonly name: string }): unknown {
    return this.getByName(name);
  }

  object(name: string): SimulatedObject {
    const known = this.objects.get(name);
    if (known) return known;
    const made = this.#make(name);
    this.objects.set(name, made);
    return made;
  }
}

function stubOf(object: SimulatedObject): unknown {
  const use: StubUse = { crashes: undefined };
  return new Proxy(
    {},
    {
      get(_, property) {
        if (typeof property !== "string" || property === "then") return undefined;
        if (property === "fetch") {
          return (input: string | Request, init?: RequestInit) =>
            object.call("fetch", [input instanceof Request ? input : new Request(input, init)], use);
        }
        return (...values: unknown[]) => object.call(property, values, use);
      },
    },
  );
}
