/** `flash migrate`: recreates the account of an old service in Edgerun. */
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { counted } from "../core/format.ts";
import { openService } from "../configuration/settings.ts";
import { inStep } from "../core/terminal.ts";
import { parseServiceUrl, requireSecureUrl } from "../service/service-url.ts";
import type { Service } from "../service/service.ts";
import { itemsOf } from "./conversion.ts";
import { Credentials } from "./credentials.ts";
import { migrate, type Outcome } from "./migration.ts";
import { RecordFile } from "./record-file.ts";
import { readSource, type SourceAccess } from "./source.ts";

const KEY_VARIABLE = "RUNPOD_API_KEY";

export type MigrateOptions = {
  readonly fromUrl: string;
  readonly apply?: boolean;
  readonly secretsFrom?: string;
};

export async function migrateAccount(cli: Cli, options: MigrateOptions): Promise<void> {
  const applies = options.apply ?? false;
  const service = await openService(cli);
  const access = await findSource(cli, options.fromUrl, service);
  const reading = { title: `Reading ${access.url}`, failed: "The account could not be read." };
  const account = await inStep(cli.terminal, reading, async (step) => {
    const read = await readSource(access);
    step.done(`Read ${access.url}.`);
    return read;
  });
  const items = itemsOf(account);
  const credentials = await Credentials.open(cli, items, options.secretsFrom);
  const record = new RecordFile(cli, access.url, service.url);
  await record.read();
  const title = applies ? `Creating what ${service.url} lacks` : `Comparing with ${service.url}`;
  const comparing = { title, failed: "The migration did not end; run it again, and it continues." };
  const outcomes = await inStep(cli.terminal, comparing, async (step) => {
    const work = async () => await migrate({ service, items, record, credentials, applies, step });
    const all = applies ? await record.exclusively(work) : await work();
    step.done(`Compared ${counted(all.length, "item")} with ${service.url}.`);
    return all;
  });
  report(cli, outcomes, { from: access.url, to: service.url, applies, unread: account.unread });
}

/** The key comes from the environment or the terminal, so that no list of processes shows it. */
async function findSource(cli: Cli, fromUrl: string, service: Service): Promise<SourceAccess> {
  const url = parseServiceUrl(fromUrl, "--from-url");
  if (cli.isInsecure !== true) requireSecureUrl(url);
  const apiKey =
    cli.environment[KEY_VARIABLE]?.trim() || (await cli.terminal.askSecret(`API key for ${url}`));
  if (!apiKey) {
    throw new Failure(`There is no API key for ${url}.`, [
      `Set ${KEY_VARIABLE} to a key of the old service.`,
    ]);
  }
  cli.hide?.(apiKey);
  if (apiKey === service.apiKey) {
    throw new Failure(`${KEY_VARIABLE} holds the key of ${service.url}, not one of ${url}.`, [
      `Set ${KEY_VARIABLE} to a key of the old service for this command.`,
    ]);
  }
  return { url, apiKey, signal: cli.signal };
}

/** What no command can move. */
const NOT_MIGRATED = [
  "Pods, clusters, Flash apps, jobs and their results, billing, and what the hosted service alone has are not migrated.",
  "The data of network volumes is not copied: docs/how-to/migrate-from-runpod.md says how to copy it.",
];

type Frame = {
  readonly from: string;
  readonly to: string;
  readonly applies: boolean;
  readonly unread: readonly string[];
};

function report({ terminal }: Cli, outcomes: readonly Outcome[], frame: Frame): void {
  const { from, to, applies, unread } = frame;
  const warnings = [...unread, ...NOT_MIGRATED];
  terminal.json({ from, to, isApplied: applies, items: outcomes, warnings });
  const countOf = (wanted: Outcome["action"]) => outcomes.filter(({ action }) => action === wanted).length;
  if (!terminal.isJson) {
    const rows = outcomes.map(({ action, kind, name, notes }) => [action, kind, name, notes.join("; ")]);
    terminal.table(["ACTION", "WHAT", "NAME", "NOTES"], rows);
    for (const warning of warnings) terminal.warn(warning);
    if (!applies) {
      terminal.say(
        `Nothing was written. flash migrate --apply creates ${counted(countOf("create"), "item")}.`,
      );
    }
  }
  const failed = countOf("failed");
  if (failed === 0) return;
  throw new Failure(`${counted(failed, "item")} could not be created.`, [
    "Solve what the notes say, and run it again: it continues.",
  ]);
}
