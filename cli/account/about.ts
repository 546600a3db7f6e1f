/** Whose account it is, what it used, who changed it, and its console. */
import * as z from "zod";
import { findAccess, openService, serviceAt } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { operation } from "../service/service.ts";
import { openEndpoint } from "./endpoints.ts";
import { type ListOptions, showList } from "./list.ts";
import { showSecret } from "./secret-result.ts";

const string = z.string();
const count = z.number().nullable();

const permissionsSchema = z.object({
  graphql: string,
  allEndpoints: string.nullable(),
  endpoints: z.array(z.object({ endpointId: string, access: string })).nullable(),
  shell: z.boolean(),
});
const ownKey = operation(
  `query {
    myself { id email }
    apiKeys { id name level isCurrent permissions {
      graphql allEndpoints endpoints { endpointId access } shell
    } }
  }`,
  {
    myself: z.object({ id: string, email: string.nullable() }),
    apiKeys: z.array(
      z.object({
        id: string,
        name: string,
        level: string,
        isCurrent: z.boolean(),
        permissions: permissionsSchema,
      }),
    ),
  },
);

/** The account and the key that commands use here. */
export async function showOwner(cli: Cli): Promise<void> {
  const access = await findAccess(cli);
  const { myself, apiKeys } = await serviceAt(cli, access).query(ownKey);
  const key = apiKeys.find(({ isCurrent }) => isCurrent) ?? null;
  cli.terminal.json({ url: access.url, account: myself, key, keySource: access.keySource });
  if (cli.terminal.isJson) return;
  const { terminal } = cli;
  terminal.say(`Service  ${access.url}`);
  terminal.say(`Account  ${printable([myself.id, myself.email ?? ""].join("  ").trimEnd())}`);
  terminal.say(
    `Key      ${key === null ? "-" : printable(`${key.name} (${key.level})`)}, of ${access.keySource}`,
  );
  if (key !== null) terminal.say(`May      ${rightsOf(key.permissions)}`);
}

/** Such as "graphql WRITE, endpoints WRITE, shell". */
function rightsOf({ graphql, allEndpoints, endpoints, shell }: z.infer<typeof permissionsSchema>): string {
  const named = endpoints?.map(({ endpointId, access }) => `${endpointId} ${access}`) ?? [];
  const all = allEndpoints === null ? [] : [`endpoints ${allEndpoints}`];
  return [`graphql ${graphql}`, ...all, ...named, ...(shell ? ["shell"] : [])].join(", ");
}

const usageOfAccount = operation(
  `query ($input: UsageInput) { myself { usage(input: $input) {
    from endpointId endpointName isPod requests completed failed workerSeconds busySeconds cost
  } } }`,
  {
    myself: z.object({
      usage: z.array(
        z.object({
          from: string,
          endpointId: string,
          endpointName: string.nullable(),
          isPod: z.boolean(),
          requests: count,
          completed: count,
          failed: count,
          workerSeconds: count,
          busySeconds: count,
          cost: count,
        }),
      ),
    }),
  },
);

export type UsageOptions = ListOptions & {
  /** How long ago it begins, in seconds. */
  readonly since: number;
  readonly by: string;
  readonly endpoint?: string;
};

export async function showUsage(cli: Cli, { since, by, endpoint, ...options }: UsageOptions): Promise<void> {
  const opened = endpoint === undefined ? undefined : await openEndpoint(cli, endpoint);
  const service = opened?.service ?? (await openService(cli));
  await showList(cli, options, {
    read: async () => {
      const from = new Date(Date.now() - since * 1_000).toISOString();
      const input = { from, bucket: by, ...(opened && { endpointId: opened.endpoint.id }) };
      const { usage } = (await service.query(usageOfAccount, { input })).myself;
      const total = usage.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
      const rows = usage.map((row) => ({ ...row, id: row.endpointId }));
      return { rows, document: { usage }, note: `In all $${total.toFixed(4)}.` };
    },
    columns: {
      FROM: ({ from }) => (by === "hour" ? from.slice(0, 16).replace("T", " ") : from.slice(0, 10)),
      NAME: ({ endpointName, endpointId }) => endpointName || endpointId,
      KIND: ({ isPod }) => (isPod ? "pod" : "endpoint"),
      JOBS: ({ requests }) => String(requests ?? 0),
      FAILED: ({ failed }) => String(failed ?? 0),
      WORKERS: ({ workerSeconds }) => `${Math.round(workerSeconds ?? 0)} s`,
      BUSY: ({ busySeconds }) => `${Math.round(busySeconds ?? 0)} s`,
      COST: ({ cost }) => `$${(cost ?? 0).toFixed(4)}`,
    },
    none: "Nothing was used in this time.",
  });
}

const auditOfAccount = operation(
  `query ($input: AuditLogInput) { myself { auditLog(input: $input) {
    id at apiKeyId apiKeyName operation subjectKind subjectId subjectName fields
  } } }`,
  {
    myself: z.object({
      auditLog: z.array(
        z.object({
          id: string,
          at: string,
          apiKeyId: string,
          apiKeyName: string.nullable(),
          operation: string,
          subjectKind: string,
          subjectId: string,
          subjectName: string.nullable(),
          fields: z.array(string),
        }),
      ),
    }),
  },
);

export type AuditOptions = ListOptions & {
  readonly limit: number;
  readonly kind?: string;
  readonly operation?: string;
  readonly subject?: string;
  readonly before?: string;
};

export async function showAuditLog(
  cli: Cli,
  { limit, kind, subject, ...options }: AuditOptions,
): Promise<void> {
  const service = await openService(cli);
  const input = {
    limit,
    ...(kind !== undefined && { subjectKind: kind }),
    ...(subject !== undefined && { subjectId: subject }),
    ...(options.operation !== undefined && { operation: options.operation }),
    ...(options.before !== undefined && { before: options.before }),
  };
  await showList(cli, options, {
    read: async () => {
      const { auditLog } = (await service.query(auditOfAccount, { input })).myself;
      const last = auditLog.length === limit ? auditLog.at(-1)?.id : undefined;
      const note = last && `Older ones: --before ${last}`;
      return { rows: auditLog, document: { auditLog }, note };
    },
    columns: {
      WHEN: ({ at }, now) => ago(at, now),
      KEY: ({ apiKeyName, apiKeyId }) => apiKeyName ?? (apiKeyId || "-"),
      OPERATION: ({ operation: name }) => name,
      SUBJECT: ({ subjectKind, subjectName, subjectId }) => `${subjectKind} ${subjectName || subjectId}`,
      FIELDS: ({ fields }) => fields.join(", "),
    },
    none: "No such change is in the log.",
  });
}

const createSignInLink = operation("mutation { createSignInLink { url expiresAt } }", {
  createSignInLink: z.object({ url: string, expiresAt: string }),
});

/** The link signs one browser in; without one it can be opened elsewhere. */
export async function openConsole(cli: Cli, { opens }: { readonly opens: boolean }): Promise<void> {
  const service = await openService(cli);
  const { url, expiresAt } = (await service.mutate(createSignInLink, {})).createSignInLink;
  const said = "This link signs one browser in to the console, within 15 minutes:";
  showSecret(cli, { said, secret: url, document: { url, expiresAt } });
  if (!opens) return;
  const { openPage } = await import("../configuration/login.ts");
  await openPage(url).catch(() => cli.terminal.warn("No browser could be opened: open the link yourself."));
}
