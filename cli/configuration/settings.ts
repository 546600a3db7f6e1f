/** Which service a command calls, and with which key. */
import { ALLOW_PLAIN_HTTP_VARIABLE } from "../../src/net/public-host.ts";
import type { Cli } from "../core/cli.ts";
import { ConfigurationFile, type StoredSettings } from "./configuration-file.ts";
import { type EnvironmentFile, findEnvironmentFile } from "./environment-file.ts";
import { requireSecureUrl, DEFAULT_URL, parseServiceUrl } from "../service/service-url.ts";
import { Failure } from "../../src/std/failure.ts";
import { Service } from "../service/service.ts";

const URL_VARIABLE = "EDGERUN_URL";
const KEY_VARIABLE = "SVC_API_KEY";

/**
 * Where a setting comes from. All but `project` were set by the user who runs the command; `project` is a `.env` file,
 * which may have come with code from others.
 */
type Origin = "option" | "environment" | "project" | "login" | "default";

/** A value, and where it comes from: `source` is for messages. */
type Setting = { readonly value: string; readonly origin: Origin; readonly source: string };

type StoredKey = { readonly apiKey: string; readonly origin: Origin; readonly source: string };

export type Settings = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly urlOrigin: Origin;
  readonly urlSource: string;
  /** The URL if `.env` is left out. */
  readonly trustedUrl: string;
  /** By precedence; the first is used. */
  readonly keys: readonly StoredKey[];
  /** URL of the service that issued the key in the configuration file. */
  readonly storedUrl: string | undefined;
  readonly file: ConfigurationFile;
};

/** Reads `--url`, the environment, `.env` and the configuration file, in this order. */
export async function readSettings(cli: Cli, url?: string): Promise<Settings> {
  const file = new ConfigurationFile(cli.environment);
  const [stored, dotEnv] = await Promise.all([file.read(), findEnvironmentFile(cli)]);
  const keys = settingsOf(KEY_VARIABLE, cli, dotEnv, { path: file.path, value: stored.api_key });
  for (const { value } of keys) cli.hide?.(value);
  const named = settingsOf(URL_VARIABLE, cli, dotEnv, { path: file.path, value: stored.url });
  const option: Setting[] = url ? [{ value: url.trim(), origin: "option", source: "--url" }] : [];
  const candidates = [...option, ...named, FALLBACK];
  const [selected = FALLBACK] = candidates;
  const trusted = candidates.find(({ origin }) => origin !== "project") ?? FALLBACK;
  const chosen = parseServiceUrl(selected.value, selected.source);
  const storedUrl = stored.url === undefined ? undefined : parseServiceUrl(stored.url, file.path);
  if (!allowsPlainHttp(cli, stored, chosen === storedUrl)) requireSecureUrl(chosen);
  return {
    url: chosen,
    urlOrigin: selected.origin,
    urlSource: selected.source,
    trustedUrl: parseServiceUrl(trusted.value, trusted.source),
    keys: keys.map(({ value, origin, source }) => ({ apiKey: value, origin, source })),
    storedUrl,
    file,
  };
}

const FALLBACK: Setting = { value: DEFAULT_URL, origin: "default", source: "default" };

/** The values of a variable, by precedence. */
function settingsOf(
  name: string,
  cli: Cli,
  dotEnv: EnvironmentFile | undefined,
  login: { readonly path: string; readonly value: string | undefined },
): readonly Setting[] {
  const places: readonly (Omit<Setting, "value"> & { value: string | undefined })[] = [
    { value: cli.environment[name], origin: "environment", source: `${name} of the environment` },
    { value: dotEnv?.entries[name], origin: "project", source: `${name} of ${dotEnv?.path}` },
    { value: login.value, origin: "login", source: login.path },
  ];
  return places.flatMap(({ value, ...place }) => (value ? [{ ...place, value: value.trim() }] : []));
}

/** A login without https is allowed for its own URL only. */
function allowsPlainHttp(cli: Cli, stored: StoredSettings, isStoredUrl: boolean): boolean {
  if (cli.isInsecure === true || cli.environment[ALLOW_PLAIN_HTTP_VARIABLE] === "true") return true;
  return isStoredUrl && stored.insecure === true;
}

/** The service with the user's key; throws a Failure when there is no key, or when it is for another URL. */
export async function openService(cli: Cli): Promise<Service> {
  return serviceAt(cli, await findAccess(cli));
}

/** A service whose URL and key are known; its warnings are those of the command. */
export function serviceAt(
  cli: Cli,
  { url, apiKey, keySource }: { readonly url: string; readonly apiKey: string; readonly keySource?: string },
): Service {
  const onWarning = (message: string): void => cli.warnings?.add(message);
  return new Service({ url, apiKey, keySource, onWarning, signal: cli.signal });
}

/** The key that is used, and the URL that it is sent to. Throws like openService. */
export async function findAccess(
  cli: Cli,
): Promise<{ readonly url: string; readonly apiKey: string; readonly keySource: string }> {
  const settings = await readSettings(cli);
  const { apiKey, source } = chooseKey(cli, settings);
  return { url: settings.url, apiKey, keySource: source };
}

function chooseKey(cli: Cli, settings: Settings): StoredKey {
  const [key, ...hidden] = settings.keys;
  if (!key) {
    throw new Failure("There is no API key.", [
      "Log in with `flash login`, or set SVC_API_KEY in the environment or in a .env file.",
    ]);
  }
  requireTrustedUrl(key, settings);
  for (const other of hidden) {
    if (other.apiKey === key.apiKey) continue;
    cli.terminal.warn(
      `${key.source} is used; it takes precedence over another API key, that of ${other.source}.`,
    );
  }
  return key;
}

/**
 * A key is sent only to a URL whose source is trusted at least as much as the source of the key: a project could name
 * a URL of its own in its `.env` and receive the key of the account. Loopback is no exception, since other users of the
 * computer may listen there. sdk/python/tests/key_addresses.json has all cases, and
 * sdk/python/src/edgerun/connection.py the same rule.
 */
function requireTrustedUrl(key: StoredKey, settings: Settings): void {
  const { url, urlSource, storedUrl, keys } = settings;
  if (key.origin === "login" && storedUrl !== undefined && storedUrl !== url) {
    throw new Failure(`The stored API key is for ${storedUrl}, not for ${url} (${urlSource}).`, [
      `Log in there with \`flash login --url ${url}\`, or set SVC_API_KEY for it.`,
    ]);
  }
  if (settings.urlOrigin !== "project" || url === settings.trustedUrl) return;
  if (keys.some(({ apiKey, origin }) => origin === "project" && apiKey === key.apiKey)) return;
  throw new Failure(`The API key (${key.source}) is not sent to ${url}: only ${urlSource} names it.`, [
    `If you trust this URL, set it yourself: export EDGERUN_URL=${url}`,
    "If the key is for this project alone, put it into the same .env file, and unset it elsewhere.",
  ]);
}
