/** Which service a command speaks to, and with which key. */
import { ALLOW_PLAIN_HTTP_VARIABLE } from "../../src/contract/plain-http.ts";
import type { Cli } from "../cli.ts";
import { ConfigurationFile, type Stored } from "./configuration-file.ts";
import { type EnvironmentFile, findEnvironmentFile } from "./environment-file.ts";
import { checkSafe, DEFAULT_ADDRESS, readAddress } from "./service-address.ts";

const ADDRESS_VARIABLE = "EDGERUN_URL";
const KEY_VARIABLE = "SVC_API_KEY";

/**
 * Where a setting comes from. All but `project`, which is a `.env` file and may have come with somebody else's code, were
 * set by the person who runs the command.
 */
type Origin = "option" | "environment" | "project" | "login" | "default";

/** A value, where it comes from, and that in words. */
type Setting = { readonly value: string; readonly origin: Origin; readonly source: string };

export type StoredKey = { readonly apiKey: string; readonly origin: Origin; readonly source: string };

export type Settings = {
  /** Without a slash at its end. */
  readonly address: string;
  readonly addressOrigin: Origin;
  readonly addressSource: string;
  /** The address if there was no `.env`. */
  readonly trustedAddress: string;
  /** In the order in which they count; the first is used. */
  readonly keys: readonly StoredKey[];
  /** Address that the key of the configuration file was given out by. */
  readonly storedAddress: string | undefined;
  readonly file: ConfigurationFile;
};

/** Reads `--url`, the environment, `.env` and the configuration file, in this order. */
export async function readSettings(cli: Cli, url?: string): Promise<Settings> {
  const file = new ConfigurationFile(cli.environment);
  const [stored, dotEnv] = await Promise.all([file.read(), findEnvironmentFile(cli)]);
  const keys = settingsOf(KEY_VARIABLE, cli, dotEnv, { path: file.path, value: stored.api_key });
  for (const { value } of keys) cli.hide?.(value);
  const named = settingsOf(ADDRESS_VARIABLE, cli, dotEnv, { path: file.path, value: stored.url });
  const option: Setting[] = url ? [{ value: url.trim(), origin: "option", source: "--url" }] : [];
  const addresses = [...option, ...named, FALLBACK];
  const [address = FALLBACK] = addresses;
  const trusted = addresses.find(({ origin }) => origin !== "project") ?? FALLBACK;
  const chosen = readAddress(address.value, address.source);
  const storedAddress = stored.url === undefined ? undefined : readAddress(stored.url, file.path);
  if (!mayBePlain(cli, stored, chosen === storedAddress)) checkSafe(chosen);
  return {
    address: chosen,
    addressOrigin: address.origin,
    addressSource: address.source,
    trustedAddress: readAddress(trusted.value, trusted.source),
    keys: keys.map(({ value, origin, source }) => ({ apiKey: value, origin, source })),
    storedAddress,
    file,
  };
}

const FALLBACK: Setting = { value: DEFAULT_ADDRESS, origin: "default", source: "default" };

/** What a variable is set to, the one that counts first. */
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

/** A login without https was allowed for its own address alone. */
function mayBePlain(cli: Cli, stored: Stored, isStoredAddress: boolean): boolean {
  if (cli.isInsecure === true || cli.environment[ALLOW_PLAIN_HTTP_VARIABLE] === "true") return true;
  return isStoredAddress && stored.insecure === true;
}
