/** Values that the old service does not tell, from a file or from the person at the terminal. */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import type { Item } from "./plan.ts";
import type { Credential } from "./target.ts";

export class Credentials {
  readonly #cli: Cli;
  readonly #entries: Readonly<Record<string, string | undefined>>;
  readonly #names: VariableNames;

  private constructor(
    cli: Cli,
    items: readonly Item[],
    entries: Readonly<Record<string, string | undefined>>,
  ) {
    this.#cli = cli;
    this.#entries = entries;
    this.#names = new VariableNames(items);
  }

  /** `path` is a file in the form of `.env`; `items` are all that it may have credentials for. */
  static async open(cli: Cli, items: readonly Item[], path: string | undefined): Promise<Credentials> {
    if (path === undefined) return new Credentials(cli, items, {});
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`The file of --secrets-from cannot be read: ${error.message}`);
    });
    const entries = parseEnv(text);
    for (const value of Object.values(entries)) if (value) cli.hide?.(value);
    return new Credentials(cli, items, entries);
  }

  /** The credential for a secret or a registry, when the file has it. */
  fromFile(item: Item): Credential | undefined {
    const [first, second] = this.variablesOf(item).map((name) => this.#entries[name]);
    if (!first) return undefined;
    if (item.kind === "secret") return { value: first };
    return second ? { username: first, password: second } : undefined;
  }

  /** The names that the file has for it. */
  variablesOf(item: Item): readonly string[] {
    return this.#names.of(item);
  }

  /** Undefined where there is no terminal, and for an empty answer. */
  async ask({ kind, name }: Item): Promise<Credential | undefined> {
    const { terminal } = this.#cli;
    const what = kind === "secret" ? `Value of secret ${name}` : `User name of registry credential ${name}`;
    const first = await terminal.askSecret(`${what} (empty: leave it out)`);
    if (!first) return undefined;
    if (kind === "secret") return { value: first };
    const password = await terminal.askSecret(`Password of registry credential ${name}`);
    return password ? { username: first, password } : undefined;
  }
}

/**
 * Names in the file: a secret's own, and REGISTRY_<NAME>_USERNAME and …_PASSWORD; with <NAME>__<ID> where the names would
 * be those of something else as well.
 */
export class VariableNames {
  readonly #users = new Map<string, number>();

  constructor(items: readonly Item[]) {
    for (const name of items.filter(({ kind }) => CREDENTIAL_KINDS.includes(kind)).flatMap(plainNames)) {
      this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
    }
  }

  of(item: Item): readonly string[] {
    const names = plainNames(item);
    const isShared = names.some((name) => (this.#users.get(name) ?? 0) > 1);
    // Two underscores are in no plain name; the id stands as it is, since ids may differ in case alone.
    return item.kind === "registry" && isShared
      ? registryNames(`${wordOf(item.name)}__${item.sourceId}`)
      : names;
  }
}

const CREDENTIAL_KINDS: readonly string[] = ["secret", "registry"];

function plainNames({ kind, name }: Item): readonly string[] {
  return kind === "secret" ? [name] : registryNames(wordOf(name));
}

function registryNames(word: string): readonly string[] {
  return [`REGISTRY_${word}_USERNAME`, `REGISTRY_${word}_PASSWORD`];
}

function wordOf(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
}
