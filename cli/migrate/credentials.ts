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

  private constructor(cli: Cli, entries: Readonly<Record<string, string | undefined>>) {
    this.#cli = cli;
    this.#entries = entries;
  }

  /** `path` is a file in the form of `.env`. */
  static async open(cli: Cli, path: string | undefined): Promise<Credentials> {
    if (path === undefined) return new Credentials(cli, {});
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`The file of --secrets-from cannot be read: ${error.message}`);
    });
    const entries = parseEnv(text);
    for (const value of Object.values(entries)) if (value) cli.hide?.(value);
    return new Credentials(cli, entries);
  }

  /** The credential for a secret or a registry, when the file has it. */
  fromFile(item: Item): Credential | undefined {
    const [first, second] = variablesOf(item).map((name) => this.#entries[name]);
    if (!first) return undefined;
    if (item.kind === "secret") return { value: first };
    return second ? { username: first, password: second } : undefined;
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

/** Names in the file: a secret's own, and REGISTRY_<NAME>_USERNAME and …_PASSWORD. */
export function variablesOf({ kind, name }: Item): readonly string[] {
  if (kind === "secret") return [name];
  const word = name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return [`REGISTRY_${word}_USERNAME`, `REGISTRY_${word}_PASSWORD`];
}
