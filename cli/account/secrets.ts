/** What `edgerun secret` does. Values are read and never shown. */
import { text } from "node:stream/consumers";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { namesNear } from "../core/near-names.ts";
import { operation, type Service } from "../service/service.ts";
import { createSecret, deleteSecret } from "../service/endpoint-operations.ts";

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

export async function listSecrets(cli: Cli): Promise<void> {
  const secrets = await secretsOf(await openService(cli));
  cli.terminal.json({ secrets });
  if (cli.terminal.isJson) return;
  if (secrets.length === 0)
    return cli.terminal.say("There are no secrets. `edgerun secret set NAME` makes one.");
  const now = Date.now();
  cli.terminal.table(
    ["NAME", "CHANGED", "DESCRIPTION"],
    secrets.map(({ name, updatedAt, description }) => [name, ago(updatedAt, now), description || "-"]),
  );
}

/** Creates it or changes its value. The value is asked for, or is the standard input where nobody can be asked. */
export async function setSecret(cli: Cli, name: string): Promise<void> {
  const service = await openService(cli);
  const present = (await secretsOf(service)).find((secret) => secret.name === name);
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

export async function removeSecret(cli: Cli, name: string): Promise<void> {
  const service = await openService(cli);
  const secrets = await secretsOf(service);
  const secret = secrets.find((one) => one.name === name);
  if (secret === undefined) {
    const near = namesNear(
      name,
      secrets.map((one) => one.name),
    );
    throw new Failure(
      `There is no secret '${name}'.`,
      near.length > 0 ? [`Did you mean ${near.join(", ")}?`] : [],
    );
  }
  const isMeant = await cli.terminal.confirm(
    `Delete secret ${name}? Workers that refer to it will not start.`,
  );
  if (!isMeant) return cli.terminal.say("Nothing was deleted.");
  await service.mutate(deleteSecret, { id: secret.id });
  cli.terminal.json({ deleted: name });
  cli.terminal.done(`Deleted secret ${name}.`);
}

async function secretsOf(service: Service) {
  return (await service.query(secretsOfAccount)).myself.secrets;
}
