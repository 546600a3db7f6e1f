/** API keys of an account. A token is shown when its key is made, and never again. */
import * as z from "zod";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { operation, type Service } from "../service/service.ts";
import { endpoints } from "./endpoints.ts";
import { chooseRow, type Noun, type Removal } from "./noun.ts";
import { showSecret } from "./secret-result.ts";

const string = z.string();
const keySchema = z.object({
  id: string,
  name: string,
  hint: string,
  level: string,
  createdAt: string,
  lastUsedAt: string.nullable(),
  expiresAt: string.nullable(),
  revokedAt: string.nullable(),
  isCurrent: z.boolean(),
});
type Key = z.infer<typeof keySchema>;

const keysOfAccount = operation(
  "query { apiKeys { id name hint level createdAt lastUsedAt expiresAt revokedAt isCurrent } }",
  { apiKeys: z.array(keySchema) },
);
const createKey = operation(
  "mutation ($input: ApiKeyInput) { createApiKey(input: $input) { token apiKey { id name level expiresAt } } }",
  {
    createApiKey: z.object({
      token: string,
      apiKey: z.object({ id: string, name: string, level: string, expiresAt: string.nullable() }),
    }),
  },
);
const revokeKey = operation("mutation ($id: ID) { revokeApiKey(id: $id) }", { revokeApiKey: z.null() });

export const keys: Noun<Key> & Removal<Key> = {
  one: "key",
  many: "keys",
  rowsOf: async (service) => (await service.query(keysOfAccount)).apiKeys,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name, isCurrent }) => (isCurrent ? `${name} (this one)` : name),
    ID: ({ id }) => id,
    KEY: ({ hint }) => (hint === "" ? "-" : `${hint}…`),
    LEVEL: ({ level }) => level,
    STATE: stateOf,
    USED: ({ lastUsedAt }, now) => (lastUsedAt === null ? "never" : ago(lastUsedAt, now)),
  },
  none: "There are no keys.",
  past: "Revoked",
  question: ({ name, isCurrent }) =>
    isCurrent
      ? `Revoke key ${name}, which this command uses?`
      : `Revoke key ${name}? What uses it stops within 30 seconds, and hosts that joined through it are removed.`,
  remove: async (service, { id }) => await service.mutateIdempotent(revokeKey, { id }),
};

function stateOf({ expiresAt, revokedAt }: Key, now: number): string {
  if (revokedAt !== null) return "revoked";
  if (expiresAt === null) return "valid";
  return Date.parse(expiresAt) <= now ? "expired" : `until ${expiresAt.slice(0, 10)}`;
}

export type KeyOptions = {
  readonly readOnly?: boolean;
  readonly endpoint: readonly string[];
  readonly shell?: boolean;
  /** In seconds. */
  readonly expires?: number;
};

/** Its token is the result of the command. */
export async function makeKey(cli: Cli, name: string, options: KeyOptions): Promise<void> {
  const service = await openService(cli);
  const { expires } = options;
  const input = {
    name,
    ...(await rightsOf(service, options)),
    ...(expires !== undefined && { expiresInSeconds: expires }),
  };
  const { token, apiKey } = (await service.mutate(createKey, { input })).createApiKey;
  const said = `Made key ${name}. It is shown only now:`;
  showSecret(cli, { said, secret: token, document: { token, ...apiKey } });
}

async function rightsOf(service: Service, { readOnly, endpoint, shell }: KeyOptions): Promise<object> {
  if (readOnly && (endpoint.length > 0 || shell)) {
    throw new Failure("--read-only goes with neither --endpoint nor --shell.", [], EXIT_USAGE);
  }
  if (readOnly) return { level: "READ_ONLY" };
  if (endpoint.length > 0) {
    const all = await endpoints.rowsOf(service);
    const chosen = endpoint.map((name) => ({
      endpointId: chooseRow(endpoints, all, name).id,
      access: "WRITE",
    }));
    return { permissions: { endpoints: chosen, shell: shell === true } };
  }
  return shell ? { permissions: { graphql: "WRITE", allEndpoints: "WRITE", shell } } : { level: "ALL" };
}
