/** Secrets of an account. Values are read and never shown. */
import { text } from "node:stream/consumers";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { operation } from "../service/service.ts";
import { createSecret, deleteSecret } from "../service/endpoint-operations.ts";
import type { Noun, Removal } from "./noun.ts";

const string = z.string();
const secretSchema = z.object({
  id: string,
  name: string,
  description: string.nullable(),
  updatedAt: string,
});

const secretsOfAccount = operation("query { myself { secrets { id name description updatedAt } } }", {
  myself: z.object({ secrets: z.array(secretSchema) }),
});
const updateSecret = operation(
  "mutation ($input: SecretValueUpdateInput) { secretValueUpdate(input: $input) { id } }",
  { secretValueUpdate: z.object({ id: string }) },
);

type Secret = z.infer<typeof secretSchema>;

export const secrets: Noun<Secret> & Removal<Secret> = {
  one: "secret",
  many: "secrets",
  rowsOf: async (service) => (await service.query(secretsOfAccount)).myself.secrets,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    CHANGED: ({ updatedAt }, now) => ago(updatedAt, now),
    DESCRIPTION: ({ description }) => description || "-",
  },
  none: "There are no secrets. `edgerun secret set NAME` makes one.",
  question: ({ name }) => `Delete secret ${name}? Workers that refer to it will not start.`,
  remove: async (service, { id }) => await service.mutate(deleteSecret, { id }),
};

/** Creates it or changes its value. The value is asked for, or is the standard input where nobody can be asked. */
export async function setSecret(cli: Cli, name: string): Promise<void> {
  const service = await openService(cli);
  const present = (await secrets.rowsOf(service)).find((secret) => secret.name === name);
  const asked = await cli.terminal.askSecret(`Value of ${name}`);
  const value = asked ?? (await text(process.stdin)).replace(/\n$/, "");
  if (value === "")
    throw new Failure("The value is empty.", [`printf %s "$VALUE" | edgerun secret set ${name}`]);
  cli.hide?.(value);
  if (present) await service.mutateIdempotent(updateSecret, { input: { id: present.id, value } });
  else await service.mutate(createSecret, { input: { name, value } });
  cli.terminal.json({ name, action: present ? "updated" : "created" });
  cli.terminal.done(
    present
      ? `Changed secret ${name}. Workers that start from now on have the new value.`
      : `Made secret ${name}. Use it in a variable: {{ SECRET_${name} }}`,
  );
}
