/** Which item of an old account became which of a new one: `migration.json` beside the stored login. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { lock } from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { parseJson } from "../../src/std/json.ts";
import { ConfigurationFile } from "../configuration/configuration-file.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { readIfThere } from "../core/files.ts";
import { KINDS, type Ids, type Kind } from "./plan.ts";

const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;
/** A killed command leaves a lock that nobody refreshes; waiters wait longer than the 5 s after which it is stale. */
const LOCK = {
  realpath: false,
  stale: 5_000,
  onCompromised: () => undefined,
  retries: { retries: 35, factor: 1, minTimeout: 200, maxTimeout: 200 },
};

/** By `<URL of the old service> <URL of the new one>`. */
const fileSchema = z.record(z.string(), z.partialRecord(z.enum(KINDS), z.record(z.string(), z.string())));

export class RecordFile {
  readonly #path: string;
  readonly #key: string;
  #content: z.output<typeof fileSchema> = {};

  constructor({ environment }: Cli, from: string, to: string) {
    this.#path = join(dirname(new ConfigurationFile(environment).path), "migration.json");
    this.#key = `${from} ${to}`;
  }

  /** Ids that `read` has found and those that were added since. */
  idsOf(kind: Kind): Ids {
    return this.#content[this.#key]?.[kind] ?? {};
  }

  /** Nothing where there is no file. */
  async read(): Promise<void> {
    const text = await readIfThere(this.#path);
    const parsed = fileSchema.safeParse(text === undefined ? {} : parseJson(text.toString("utf8")));
    if (!parsed.success) {
      throw new Failure(`${this.#path} cannot be read: it holds no record of migrations.`, [
        "Move it away: what was migrated is then found by name and settings.",
      ]);
    }
    this.#content = parsed.data;
  }

  /** Reads it and lets no other migration of this user create anything meanwhile. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(dirname(this.#path), { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    const unlock = await lock(this.#path, LOCK).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ELOCKED") throw error;
      throw new Failure("Another `flash migrate --apply` is running.", [
        `If none runs, remove ${this.#path}.lock.`,
      ]);
    });
    try {
      await this.read();
      return await work();
    } finally {
      await unlock().catch(() => undefined);
    }
  }

  /** Returns once the record is on the disk. */
  async add(kind: Kind, sourceId: string, id: string): Promise<void> {
    const ids = this.#content[this.#key] ?? {};
    const changed = { ...ids, [kind]: { ...ids[kind], [sourceId]: id } };
    this.#content = { ...this.#content, [this.#key]: changed };
    await writeFileAtomic(this.#path, `${JSON.stringify(this.#content, null, 1)}\n`, { mode: OWNER_ONLY });
  }
}
