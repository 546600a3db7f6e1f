import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";
import { Service } from "../service/service.ts";
import { readSettings, type Settings, type StoredKey } from "./settings.ts";

/** The service with this person's key; throws a Failure when there is none, or when it is not for that address. */
export async function openService(cli: Cli): Promise<Service> {
  return new Service({
    ...(await findAccess(cli)),
    onWarning: (message) => cli.warnings?.add(message),
    signal: cli.signal,
  });
}

/** The key that is used, and the address that it goes to. Throws like openService. */
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
    cli.terminal.warn(`${key.source} is used; it hides another API key, that of ${other.source}.`);
  }
  return key;
}

/**
 * A key goes only where somebody said who is trusted at least as much as who gave the key: a project could name an
 * address of its own in its `.env`, and be sent the key of the account. Loopback is no exception, since on a computer
 * of several users any of them may listen there. sdk/python/tests/key_addresses.json has all cases, and
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
    `If you trust this address, say so yourself: export EDGERUN_URL=${url}`,
    "If the key is for this project alone, put it into the same .env file, and unset it elsewhere.",
  ]);
}
