/** The webhook of a job: its deliveries, and the secret with which an account's calls are signed. */
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { operation } from "../service/service.ts";
import { openEndpoint } from "./endpoints.ts";
import { type ListOptions, showList } from "./list.ts";
import { showSecret } from "./secret-result.ts";

const string = z.string();
const count = z.number();
const logSchema = z.looseObject({
  webhook: string.nullable(),
  state: string,
  attempts: z.array(
    z.looseObject({
      at: count,
      durationMs: count,
      statusCode: count.optional(),
      error: string.optional(),
    }),
  ),
  nextAttemptAt: count.optional(),
});

export async function listDeliveries(
  cli: Cli,
  nameOrId: string,
  { id, ...options }: ListOptions & { readonly id: string },
): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  await showList(cli, options, {
    read: async () => {
      const log = await service.read(`/v2/${endpoint.id}/webhooks/${encodeURIComponent(id)}`, logSchema);
      const rows = log.attempts.map((attempt) => ({ ...attempt, id }));
      return { rows, document: log, note: `${log.state}: ${log.webhook ?? "no webhook"}` };
    },
    columns: {
      WHEN: ({ at }, now) => ago(new Date(at).toISOString(), now),
      TOOK: ({ durationMs }) => `${durationMs} ms`,
      ANSWER: ({ statusCode, error }) => error ?? String(statusCode ?? "-"),
    },
    none: `The webhook of job ${id} was not called, or the job has none.`,
  });
}

export async function sendAgain(cli: Cli, nameOrId: string, id: string): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const path = `/v2/${endpoint.id}/webhooks/${encodeURIComponent(id)}/redeliver`;
  const log = await service.read(path, z.looseObject({}), { method: "POST" });
  cli.terminal.json(log);
  cli.terminal.done(`The webhook of job ${id} is called again.`);
}

const secretSchema = z.object({ secret: string, createdAt: string, previousValidUntil: string.nullable() });
const secretOfAccount = operation(
  "query { myself { webhookSecret { secret createdAt previousValidUntil } } }",
  { myself: z.object({ webhookSecret: secretSchema.nullable() }) },
);
const rotateSecret = operation("mutation { webhookSecretRotate { secret createdAt previousValidUntil } }", {
  webhookSecretRotate: secretSchema,
});

/** With which receivers verify calls; it is the result of the command. */
export async function showSigningSecret(cli: Cli, { rotate }: { readonly rotate?: boolean }): Promise<void> {
  const service = await openService(cli);
  if (rotate && !(await cli.terminal.confirm("Make a new secret? The present one is valid for 24 hours."))) {
    return cli.terminal.say("Nothing was changed.");
  }
  const secret = rotate
    ? (await service.mutate(rotateSecret, {})).webhookSecretRotate
    : (await service.query(secretOfAccount)).myself.webhookSecret;
  if (secret === null) throw new Failure("This needs a key with the permission graphql: WRITE.");
  showSecret(cli, { secret: secret.secret, document: secret });
}
