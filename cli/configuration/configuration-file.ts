import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify, type TomlTable } from "smol-toml";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { formatIssues } from "../../src/contract/validation-issues.ts";
import { Failure } from "../../src/std/failure.ts";

const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

const storedSchema = z.looseObject({
  /** URL of the service. */
  url: z.string().optional(),
  api_key: z.string().optional(),
  /** The URL may be used although it is neither on this computer nor https. */
  insecure: z.boolean().optional(),
});
export type StoredSettings = z.infer<typeof storedSchema>;

/** What `flash login` has stored: `edgerun/config.toml` in the configuration directory of the user. */
export class ConfigurationFile {
  readonly path: string;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const base = environment["XDG_CONFIG_HOME"] || join(environment["HOME"] || homedir(), ".config");
    this.path = join(base, "edgerun", "config.toml");
  }

  /** Empty when the file does not exist. */
  async read(): Promise<StoredSettings> {
    const stored = storedSchema.safeParse(await this.#entries());
    if (stored.success) return stored.data;
    throw this.#damaged(formatIssues(stored.error));
  }

  /** Changes these entries and keeps all others. Writes atomically; only the user may read the file. */
  async write(changes: StoredSettings): Promise<void> {
    const entries = { ...(await this.#entries()), ...changes };
    await mkdir(dirname(this.path), { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    const defined = Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
    await writeFileAtomic(this.path, stringify(defined), { mode: OWNER_ONLY });
  }

  async #entries(): Promise<TomlTable> {
    try {
      return parse(await readFile(this.path, "utf8"));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return {};
      if (code !== undefined) throw error;
      // The lines after the first one quote the file, which holds a key.
      throw this.#damaged(message.split("\n")[0] ?? "");
    }
  }

  #damaged(reason: string): Failure {
    return new Failure(`${this.path} cannot be read: ${reason}`, [
      "Fix it, or move it away and run `flash login` again.",
    ]);
  }
}
