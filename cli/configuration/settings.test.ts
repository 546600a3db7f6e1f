import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stringify } from "smol-toml";
import { describe, test } from "vitest";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { findAccess } from "./settings.ts";

type Place = "environment" | "project" | "login";
type Case = {
  readonly name: string;
  readonly keys: Partial<Record<Place, string>>;
  readonly addresses: Partial<Record<Place, string>>;
  readonly plain_http?: Partial<Record<Place, boolean>>;
  /** The key and address that are used; null where nothing may be sent. */
  readonly goes: readonly [string, string] | null;
};

/** The Python package is held to the same table. */
const TABLE = resolve(import.meta.dirname, "../../sdk/python/tests/key_addresses.json");
const cases = JSON.parse(await readFile(TABLE, "utf8")) as readonly Case[];

describe("a key goes only to an address of a source that is trusted as much", () => {
  test.for(cases)("$name", async ({ keys, addresses, plain_http: plain, goes }, { expect }) => {
    await using computer = await Computer.make();
    const variables = (place: "environment" | "project"): Record<string, string> => ({
      ...(keys[place] && { SVC_API_KEY: keys[place] }),
      ...(addresses[place] && { EDGERUN_URL: addresses[place] }),
      ...(plain?.[place] && { EDGERUN_ALLOW_PLAIN_HTTP: "true" }),
    });
    await computer.writeProject(variables("project"));
    await computer.writeLogin({
      ...(keys.login && { api_key: keys.login }),
      ...(addresses.login && { url: addresses.login }),
      ...(plain?.login && { insecure: true }),
    });
    const cli = computer.cli(variables("environment"));
    if (goes === null) return await expect(findAccess(cli)).rejects.toThrow(Failure);
    const { apiKey, url } = await findAccess(cli);
    expect([apiKey, url]).toEqual(goes);
  });
});

describe("the .env file", () => {
  test("is searched up to the root of the repository", async ({ expect }) => {
    await using computer = await Computer.make();
    await computer.writeProject({ SVC_API_KEY: "er_project" });
    const deep = join(computer.project, "a/b");
    await mkdir(deep, { recursive: true });
    const open = () => findAccess(computer.cli({}, deep));
    expect((await open()).apiKey).toBe("er_project");
    await mkdir(join(computer.project, "a/.git"));
    await expect(open()).rejects.toThrowErrorMatchingSnapshot();
    await rm(join(computer.project, "a/.git"), { recursive: true });
    await expect(findAccess(computer.cli({ HOME: deep }, deep))).rejects.toThrowErrorMatchingSnapshot();
  });

  test.skipIf(process.getuid?.() !== 0)("of another user is passed over, and said", async ({ expect }) => {
    await using computer = await Computer.make();
    await computer.writeProject({ SVC_API_KEY: "er_project" });
    const file = join(computer.project, ".env");
    await chown(file, 1234, 1234);
    await expect(findAccess(computer.cli({}))).rejects.toThrowErrorMatchingSnapshot();
    expect(computer.warnings.join("\n")).toContain(file);
    // The user who called sudo.
    expect((await findAccess(computer.cli({ SUDO_UID: "1234" }))).apiKey).toBe("er_project");
  });
});

/** A home and a project in it, of nobody who is on this computer. */
class Computer implements AsyncDisposable {
  readonly warnings: string[] = [];
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async make(): Promise<Computer> {
    const computer = new Computer(await mkdtemp(join(tmpdir(), "edgerun-access-")));
    await mkdir(computer.project);
    return computer;
  }

  get project(): string {
    return join(this.#home, "project");
  }

  async writeProject(variables: Readonly<Record<string, string>>): Promise<void> {
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(this.project, ".env"), lines.join(""));
  }

  async writeLogin(entries: Readonly<Record<string, string | boolean>>): Promise<void> {
    await mkdir(join(this.#home, ".config/edgerun"), { recursive: true });
    await writeFile(join(this.#home, ".config/edgerun/config.toml"), stringify(entries));
  }

  cli(environment: Cli["environment"], directory = this.project): Cli {
    const terminal = { warn: (line: string) => void this.warnings.push(line) } as Cli["terminal"];
    return {
      directory,
      environment: { HOME: this.#home, ...environment },
      terminal,
      signal: new AbortController().signal,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true });
  }
}
