/** Kinds of things that an account has: lists of them, and the choice of one by its name or id. */
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { printable } from "../core/printable.ts";
import { namesNear } from "../core/near-names.ts";
import type { Service } from "../service/service.ts";
import { type ListOptions, type Columns, showList } from "./list.ts";

export type Noun<Row extends { readonly id: string }> = {
  /** In messages, such as "secret". */
  readonly one: string;
  /** The member of the JSON document that has them all. */
  readonly many: string;
  readonly rowsOf: (service: Service) => Promise<readonly Row[]>;
  readonly nameOf: (row: Row) => string;
  readonly columns: Columns<Row>;
  /** Said where there are none. */
  readonly none: string;
  /** A row in JSON; by default as it is. */
  readonly view?: (row: Row) => unknown;
};

/** How a thing is removed. */
export type Removal<Row> = {
  /** What has then happened to it: "Deleted" by default. */
  readonly past?: "Removed" | "Revoked" | "Terminated";
  /** Asked before; it says what follows. */
  readonly question: (row: Row) => string;
  readonly remove: (service: Service, row: Row) => Promise<unknown>;
};

export async function listNoun<Row extends { readonly id: string }>(
  cli: Cli,
  noun: Noun<Row>,
  options: ListOptions = {},
): Promise<void> {
  const service = await openService(cli);
  const { view = (row: Row) => row } = noun;
  await showList(cli, options, {
    read: async () => {
      const rows = await noun.rowsOf(service);
      return { rows, document: { [noun.many]: rows.map(view) } };
    },
    columns: noun.columns,
    none: noun.none,
  });
}

/** The one of this name or id. Throws a Failure that names near ones, or those that share the name. */
export function chooseRow<Row extends { readonly id: string }>(
  { one, nameOf }: Pick<Noun<Row>, "one" | "nameOf">,
  rows: readonly Row[],
  nameOrId: string,
): Row {
  const byId = rows.find(({ id }) => id === nameOrId);
  const byName = rows.filter((row) => nameOf(row) === nameOrId);
  const [first, second] = byId ? [byId] : byName;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined) {
    throw new Failure(`Several ${one}s are called '${nameOrId}'.`, [
      `Name one by its id: ${byName.map(({ id }) => id).join(", ")}`,
    ]);
  }
  const near = namesNear(nameOrId, rows.map(nameOf));
  throw new Failure(`There is no ${one} '${nameOrId}'.`, [
    near.length > 0
      ? `Did you mean ${near.join(", ")}?`
      : `\`edgerun ${one} list\` shows those that there are.`,
  ]);
}

/** Removes one after a question, which `--yes` answers; nothing is removed where the answer is no. */
export async function removeRow<Row extends { readonly id: string }>(
  cli: Cli,
  noun: Noun<Row> & Removal<Row>,
  nameOrId: string,
): Promise<void> {
  const service = await openService(cli);
  const row = chooseRow(noun, await noun.rowsOf(service), nameOrId);
  if (!(await cli.terminal.confirm(noun.question(row)))) return cli.terminal.say("Nothing was changed.");
  await noun.remove(service, row);
  const { past = "Deleted" } = noun;
  cli.terminal.json({ [past.toLowerCase()]: noun.nameOf(row), id: row.id });
  cli.terminal.done(`${past} ${noun.one} ${printable(noun.nameOf(row))}.`);
}
