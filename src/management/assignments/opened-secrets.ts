/** Secrets and registry logins, open for the length of one answer to a host. */
import { open, type Opening, type SealedPlace } from "../../auth/envelope.ts";
import type { Assignment } from "../../contract/agent/agent.ts";
import { openDatabase } from "../../db/database.ts";
import { findSealedRegistryAuths } from "../../db/credentials/registry-auths.ts";
import { findSealedSecrets } from "../../db/credentials/secrets.ts";
import type { RegistryLogin } from "../../domain/accounts/secret-reference.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import { openingKeys } from "../secrets/sealing-keys.ts";

type SecretRefs = { readonly names: readonly string[]; readonly registryAuthIds: readonly string[] };
type OpenedLogin = { readonly name: string; readonly opening: Opening };

const NAME_MAX = 191;

export class OpenedSecrets {
  readonly #values: ReadonlyMap<string, Opening>;
  readonly #logins: ReadonlyMap<string, OpenedLogin>;

  private constructor(values: ReadonlyMap<string, Opening>, logins: ReadonlyMap<string, OpenedLogin>) {
    this.#values = values;
    this.#logins = logins;
  }

  /** Reads what is wanted and there; asks D1 for nothing when nothing is wanted. */
  static async read(
    env: Env,
    accountId: string,
    { names, registryAuthIds }: SecretRefs,
  ): Promise<OpenedSecrets> {
    const db = openDatabase(env.DB);
    const keys = openingKeys(env);
    const unsealed = async (kind: SealedPlace["kind"], rowId: string, sealed: string): Promise<Opening> => {
      const opening = await open(keys, { accountId, kind, rowId }, sealed);
      if (opening.kind !== "opened") {
        logFailure("sealed_text_unopenable", { kind, id: rowId }, new Error(opening.kind));
      }
      return opening;
    };
    const secrets = names.length === 0 ? [] : await findSealedSecrets(db, accountId, unique(names));
    const logins =
      registryAuthIds.length === 0
        ? []
        : await findSealedRegistryAuths(db, accountId, unique(registryAuthIds));
    return new OpenedSecrets(
      new Map(
        await Promise.all(
          secrets.map(
            async ({ id, name, sealedValue }) => [name, await unsealed("secret", id, sealedValue)] as const,
          ),
        ),
      ),
      new Map(
        await Promise.all(
          logins.map(async ({ id, name, sealedCredentials }) => {
            const opening = await unsealed("registry_auth", id, sealedCredentials);
            return [id, { name, opening }] as const;
          }),
        ),
      ),
    );
  }

  /** Why a secret cannot be put in its place; undefined when it can. */
  problemOfValue(name: string, place: string): string | undefined {
    const opening = this.#values.get(name);
    const subject = `Secret '${name.slice(0, NAME_MAX)}', to which ${place} refers,`;
    if (opening === undefined) {
      return `${subject} does not exist. Create it (secretCreate), and the worker starts automatically.`;
    }
    return opening.kind === "opened" ? undefined : `${subject} ${whyNot(opening)}`;
  }

  /** The value of a secret without a problem. */
  value(name: string): string {
    return openedValue(this.#values.get(name));
  }

  /** Why a login cannot be passed on; undefined when it can. */
  problemOfLogin(id: string, templateName: string): string | undefined {
    const login = this.#logins.get(id);
    if (login === undefined) {
      return `Registry credential '${id}', which template '${templateName}' names, does not exist. Create one (saveRegistryAuth) and name it in the template, or clear its containerRegistryAuthId.`;
    }
    const { name, opening } = login;
    if (opening.kind === "opened") return undefined;
    return `Registry credential '${name}', which template '${templateName}' names, ${whyNot(opening)}`;
  }

  /** The credentials of a login without a problem. */
  login(id: string): NonNullable<Assignment["registryAuth"]> {
    const login = this.#logins.get(id);
    const { username, password } = JSON.parse(openedValue(login?.opening)) as RegistryLogin;
    return { username, password, name: login?.name ?? "" };
  }
}

function whyNot(opening: Exclude<Opening, { readonly kind: "opened" }>): string {
  switch (opening.kind) {
    case "key_missing":
      return `is sealed under key '${opening.keyId}', which ENCRYPTION_KEYS lacks. The operator puts that key back, or it is set again.`;
    case "damaged":
      return "does not open: its stored value was changed. Set it again.";
  }
}

function openedValue(opening: Opening | undefined): string {
  if (opening?.kind !== "opened") throw new Error("A secret that has a problem was requested.");
  return opening.plaintext;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
