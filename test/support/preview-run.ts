/** A `flash deploy --preview` that runs, as its person has started it. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import Docker from "dockerode";
import { execa } from "execa";
import type { CommandFixture } from "../cli/support/flash-command.ts";

export type PreviewedEndpoint = {
  readonly name: string;
  readonly type: "QB" | "LB";
  readonly url: string;
  readonly localUrl: string;
};
export type PreviewDocument = { readonly url: string; readonly endpoints: readonly PreviewedEndpoint[] };

export type Ended = { readonly exitCode: number | undefined; readonly stderr: string };

export class PreviewRun {
  readonly #child;
  readonly #network: string;
  #output = "";
  #errors = "";
  readonly ended: Promise<Ended>;

  constructor(fixture: CommandFixture, ...options: readonly string[]) {
    this.#network = `flash-preview-${createHash("sha256").update(fixture.project).digest("hex").slice(0, 6)}`;
    this.#child = execa(
      join(fixture.commands, "flash"),
      ["deploy", "--preview", "--python-version", "3.11", "--json", ...options],
      {
        cwd: fixture.project,
        env: fixture.environment,
        extendEnv: false,
        stdin: "ignore",
        reject: false,
        buffer: false,
      },
    );
    this.#child.stdout.on("data", (text) => (this.#output += String(text)));
    this.#child.stderr.on("data", (text) => (this.#errors += String(text)));
    this.ended = this.#child.then(({ exitCode }) => ({ exitCode, stderr: this.#errors }));
  }

  /** Resolves when it is ready; throws what it has said when it ends before. */
  async ready(): Promise<PreviewDocument> {
    const ended = this.ended.then(({ stderr }) => {
      throw new Error(stderr);
    });
    ended.catch(() => {});
    // The document is its last word on standard output, in one piece.
    while (!this.#output.trimEnd().endsWith("}"))
      await Promise.race([once(this.#child.stdout, "data"), ended]);
    return JSON.parse(this.#output) as PreviewDocument;
  }

  /** What its person reads. */
  get screen(): string {
    return this.#errors;
  }

  /** As `| head` does once it has read enough. */
  stopReading(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Names of its containers, and of its network. */
  async belongings(): Promise<readonly string[]> {
    const docker = new Docker();
    const [containers, networks] = await Promise.all([
      docker.listContainers({ all: true, filters: { network: [this.#network] } }),
      docker.listNetworks({ filters: { name: [this.#network] } }),
    ]);
    const names = containers.map(({ Names: [name = ""] }) => name.slice(1));
    return [...networks.map(({ Name }) => Name), ...names].toSorted();
  }
}
