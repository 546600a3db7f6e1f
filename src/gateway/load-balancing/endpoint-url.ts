/**
 * URLs of load-balanced endpoints: `<endpointId>.<suffix>/<path>`, and `/lb/<endpointId>/<path>`.
 *
 * They are cut out of the received URL string: parsing would normalize some bytes of the path, which may matter to a
 * worker.
 */

/** The target of a request on its worker, and the path in front of it. */
export type Place = {
  /** Path and query. */
  readonly target: string;
  /** The path in front of them; empty on the endpoint's own host. */
  readonly prefix: string;
};

/** The endpoint to which the host belongs; undefined for any other host. */
export function endpointOfHost(url: string, suffixes: ReadonlySet<string>): string | undefined {
  const host = hostOf(url)
    .replace(/\.?(:\d*)?$/, "")
    .toLowerCase();
  const dot = host.indexOf(".");
  // A suffix below another one, such as lb.localhost below localhost, is not an endpoint of it.
  if (dot <= 0 || !suffixes.has(host.slice(dot + 1)) || suffixes.has(host)) return undefined;
  return host.slice(0, dot);
}

/** The URL after the host, at least a slash. */
export function targetOf(url: string): string {
  const rest = url.slice(endOfHost(url)).split("#", 1)[0] ?? "";
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** The place of a request whose path has `segments` segments in front of the worker's part. */
export function placeBelow(url: string, segments: number): Place {
  const target = targetOf(url);
  let end = 0;
  for (let count = 0; count < segments; count += 1) {
    if (target.charAt(end) !== "/") return { target: "/", prefix: "" };
    const length = target.slice(end + 1).search(/[/?]/);
    end = length < 0 ? target.length : end + 1 + length;
  }
  const rest = target.slice(end);
  return { target: rest.startsWith("/") ? rest : `/${rest}`, prefix: target.slice(0, end) };
}

/** The suffixes in the setting LB_HOSTS. */
export function readSuffixes(setting: string): ReadonlySet<string> {
  const suffixes = setting.split(",").map((suffix) =>
    suffix
      .trim()
      .toLowerCase()
      .replace(/^\*?\./, ""),
  );
  return new Set(suffixes.filter((suffix) => suffix !== ""));
}

/** Reads a setting of suffixes once, as long as it stays the same. */
export function cachedSuffixes<Settings>(settingOf: (env: Settings) => string | undefined) {
  let cached = { setting: "", suffixes: readSuffixes("") };
  return (env: Settings): ReadonlySet<string> => {
    const setting = settingOf(env) ?? "";
    if (cached.setting !== setting) cached = { setting, suffixes: readSuffixes(setting) };
    return cached.suffixes;
  };
}

function hostOf(url: string): string {
  return url.slice(startOfHost(url), endOfHost(url));
}

function startOfHost(url: string): number {
  return url.indexOf("://") + 3;
}

function endOfHost(url: string): number {
  const length = url.slice(startOfHost(url)).search(/[/?#]/);
  return length < 0 ? url.length : startOfHost(url) + length;
}
