/** The bundled `flash` command, run as a person runs it. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { inject } from "vitest";
import type {} from "../../e2e/bundle-setup.ts";

export type Run = { readonly stdout: string; readonly stderr: string; readonly exitCode: number | undefined };

/** A computer of one's own: a home, a project directory called `demo`, and `flash` on the PATH. */
export class CommandFixture implements AsyncDisposable {
  readonly root: string;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(root: string, environment: Readonly<Record<string, string>>) {
    this.root = root;
    this.#environment = environment;
  }

  /** `bundle` is the command of this run, or what `layOutBundle` has made of it. */
  static async open(
    bundle: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<CommandFixture> {
    const fixture = new CommandFixture(await mkdtemp(join(tmpdir(), "flash-fixture-")), environment);
    for (const folder of [fixture.home, fixture.project, fixture.commands]) await mkdir(folder);
    for (const name of ["flash", "edgerun"])
      await symlink(join(bundle, `${name}.mjs`), join(fixture.commands, name));
    await symlink(process.execPath, join(fixture.commands, "node"));
    return fixture;
  }

  get home(): string {
    return join(this.root, "home");
  }

  get project(): string {
    return join(this.root, "demo");
  }

  get commands(): string {
    return join(this.root, "bin");
  }

  /** Nothing of the computer that the tests run on but its PATH, and what Node has compiled of the command. */
  get environment(): Readonly<Record<string, string>> {
    return {
      PATH: `${this.commands}:${process.env["PATH"]}`,
      HOME: this.home,
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
      LANG: "C.UTF-8",
      TZ: "UTC",
      ...this.#environment,
    };
  }

  /** A line for bash, in the project directory. */
  async run(command: string): Promise<Run> {
    const { stdout, stderr, exitCode } = await execa("bash", ["-c", command], {
      cwd: this.project,
      env: this.environment,
      extendEnv: false,
      stdin: "ignore",
      reject: false,
    });
    return { stdout, stderr, exitCode };
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const full = join(this.project, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

/** The command of this run in a new directory, away from this repository, which the caller removes. */
export async function layOutBundle(): Promise<string> {
  const directory = join(await mkdtemp(join(tmpdir(), "flash-bundle-")), "cli");
  await cp(inject("flashBundle"), directory, { recursive: true });
  return directory;
}
