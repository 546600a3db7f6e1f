/** Which service a command speaks to, and with which key. */
import type { Cli } from "../cli.ts";
import { ConfigurationFile } from "./configuration-file.ts";
import { findEnvironmentFile } from "./environment-file.ts";
import { checkSafe, DEFAULT_ADDRESS, readAddress } from "./service-address.ts";

const ADDRESS_VARIABLE = "EDGERUN_URL";
const KEY_VARIABLE = "SVC_API_KEY";

export type StoredKey = { readonly apiKey: string; readonly source: string };

export type Settings = {
  /** Without a slash at its end. */
  readonly address: string;
  readonly addressSource: string;
  /** In the order in which they count; the first is used. */
  readonly keys: readonly StoredKey[];
  /** Address that the key of the configuration file was given out by. */
  readonly storedAddress: string | undefined;
  readonly file: ConfigurationFile;
};

/** Reads `--url`, the environment, `.env` and the configuration file, in this order. */
export async function readSettings(cli: Cli, url?: string): Promise<Settings> {
  const file = new ConfigurationFile(cli.environment);
  const [stored, dotEnv] = await Promise.all([file.read(), findEnvironmentFile(cli.directory)]);
  const find = (name: string, given: string | undefined, kept: string | undefined) =>
    [
      { value: given, source: "--url" },
      { value: cli.environment[name], source: `${name} of the environment` },
      { value: dotEnv?.entries[name], source: `${name} of ${dotEnv?.path}` },
      { value: kept, source: file.path },
    ].flatMap(({ value, source }) => (value ? [{ value: value.trim(), source }] : []));

  const keys = find(KEY_VARIABLE, undefined, stored.api_key);
  for (const { value } of keys) cli.hide?.(value);
  const [address = { value: DEFAULT_ADDRESS, source: "default" }] = find(ADDRESS_VARIABLE, url, stored.url);
  const isTrusted = address.source === file.path && stored.insecure === true;
  const checked = readAddress(address.value, address.source);
  if (!isTrusted && cli.isInsecure !== true) checkSafe(checked);
  return {
    address: checked,
    addressSource: address.source,
    keys: find(KEY_VARIABLE, undefined, stored.api_key).map(({ value, source }) => ({
      apiKey: value,
      source,
    })),
    storedAddress: stored.url === undefined ? undefined : readAddress(stored.url, file.path),
    file,
  };
}
