/** Modules that production code imports and the simulation has in place of others. */
import { registerHooks } from "node:module";

const here = (path: string): string => new URL(path, import.meta.url).href;

const CACHES = ["domain/limits/bounded-map.ts", "domain/limits/counted-windows.ts"];
const CACHES_URL = here("./isolate-caches.ts");
/** What programs of a host import; everything else stays as it is. */
const OF_HOSTS = new Map(
  ["crypto", "http", "https", "os", "sqlite", "zlib"]
    .map((name): [string, string] => [`node:${name}`, here(`../host/modules/${name}.ts`)])
    .concat([
      ["node:child_process", here("../host/modules/child-process.ts")],
      ["node:fs", here("../host/modules/fs.ts")],
      ["node:fs/promises", here("../host/modules/fs.ts")],
      ["node:timers/promises", here("../host/modules/timers.ts")],
      ["ws", here("../host/modules/ws.ts")],
    ]),
);
const REAL = "real:";

const SIMULATED = new Map([["cloudflare:workers", here("./cloudflare-workers.ts")]]);

/** Code that takes the place of other code while it is loaded. */
export type PlantedFault = {
  readonly url: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

/** To be called before any production code is imported. */
export function installModules(planted?: PlantedFault): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (planted?.url !== url || !loaded.source) return loaded;
      const text =
        typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
      const source = `${text.slice(0, planted.start)}${planted.replacement}${text.slice(planted.end)}`;
      return { ...loaded, source };
    },
    resolve(specifier, context, next) {
      if (specifier.startsWith(REAL)) return next(specifier.replace(REAL, "node:"), context);
      const isOfHost = context.parentURL?.includes("/node-agent/") ?? false;
      const simulated = (isOfHost ? OF_HOSTS : SIMULATED).get(specifier);
      if (simulated !== undefined) return { url: simulated, shortCircuit: true };
      const resolved = next(specifier, context);
      const isCache = CACHES.some((path) => resolved.url.endsWith(`/src/${path}`));
      return isCache && context.parentURL !== CACHES_URL ? { url: CACHES_URL, shortCircuit: true } : resolved;
    },
  });
}
