import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";
import { Service } from "../service/service.ts";
import { readSettings, type Settings, type StoredKey } from "./settings.ts";

/** The service with this person's key; throws a Failure when there is none. */
export async function openService(cli: Cli): Promise<Service> {
  const settings = await readSettings(cli);
  const { apiKey } = chooseKey(cli, settings);
  return new Service({ url: settings.address, apiKey, signal: cli.signal });
}

function chooseKey(cli: Cli, settings: Settings): StoredKey {
  const [key, ...hidden] = settings.keys;
  if (!key) {
    throw new Failure("There is no API key.", [
      "Log in with `flash login`, or set SVC_API_KEY in the environment or in a .env file.",
    ]);
  }
  refuseElsewhere(key, settings);
  for (const other of hidden) {
    if (other.apiKey === key.apiKey) continue;
    cli.terminal.warn(`${key.source} is used; it hides another API key, that of ${other.source}.`);
  }
  return key;
}

/** A project could name an address of its own in its `.env`, and be sent the key of the person's account. */
function refuseElsewhere(key: StoredKey, { address, addressSource, storedAddress, file }: Settings): void {
  if (key.source !== file.path || storedAddress === undefined || storedAddress === address) return;
  throw new Failure(`The stored API key is for ${storedAddress}, not for ${address} (${addressSource}).`, [
    `Log in there with \`flash login --url ${address}\`, or set SVC_API_KEY for it.`,
  ]);
}
