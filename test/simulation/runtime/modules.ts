/** Modules that production code imports and the simulation has in place of others. */
import { registerHooks } from "node:module";

const here = (path: string): string => new URL(path, import.meta.url).href;

const CACHES = ["domain/limits/bounded-map.ts", "domain/limits/counted-windows.ts"];
const CACHES_URL = here("./isolate-caches.ts");
const SIMULATED = new Map([["cloudflare:workers", here("./cloudflare-workers.ts")]]);

/** To be called before any production code is imported. */
export function installModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const simulated = SIMULATED.get(specifier);
      if (simulated !== undefined) return { url: simulated, shortCircuit: true };
      const resolved = next(specifier, context);
      const isCache = CACHES.some((path) => resolved.url.endsWith(`/src/${path}`));
      return isCache && context.parentURL !== CACHES_URL ? { url: CACHES_URL, shortCircuit: true } : resolved;
    },
  });
}
