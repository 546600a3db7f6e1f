/** A project with an account of its own, whose live sessions are opened in this process. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { Cli } from "../../../cli/core/cli.ts";
import type { LiveEndpoint } from "../../../cli/dev/app/live-app.ts";
import { type LiveSessionOptions, openLiveSession } from "../../../cli/dev/session/open-session.ts";
import type { LiveSession } from "../../../cli/dev/session/live-session.ts";
import { Interruption } from "../../../cli/core/interruption.ts";
import { Service } from "../../../cli/service/service.ts";
import { ConsoleTerminal } from "../../../cli/terminal/console-terminal.ts";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import { managementApi } from "../../../standalone/management-api.ts";
import type { EdgeAccess } from "../../support/lone-edge.ts";
import { newAccount } from "../../support/shared-edge.ts";

export const APP = "demo";

export type PresentSession = {
  readonly id: string;
  readonly name: string;
  readonly leaseExpiresAt: string | null;
  readonly endpoints: readonly { readonly id: string; readonly name: string; readonly workersMax: number }[];
};

export class LiveFixture implements AsyncDisposable {
  readonly directory: string;
  readonly access: EdgeAccess;
  readonly #api: ReturnType<typeof managementApi>;
  readonly #over = new AbortController();
  readonly #lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #sessions: LiveSession[] = [];

  private constructor(directory: string, access: EdgeAccess) {
    this.directory = directory;
    this.access = access;
    this.#api = managementApi(access.baseUrl, access.apiKey);
  }

  /** An account of the shared edge, and a directory. */
  static async open(): Promise<LiveFixture> {
    const directory = await mkdtemp(join(tmpdir(), "flash-live-"));
    return new LiveFixture(directory, await newAccount(directory));
  }

  /** A command of this project, without a terminal. */
  cli({ isYes = false } = {}): Cli {
    const output = new PassThrough().setEncoding("utf8");
    output.on("data", (text: string) => this.#shown(text));
    const terminal = new ConsoleTerminal({
      streams: { input: new PassThrough(), output, errors: output },
      environment: {},
      signal: this.#over.signal,
      redact: (text) => text,
      log: () => undefined,
    });
    terminal.configure({ isJson: false, isYes });
    return { directory: this.directory, environment: {}, terminal, signal: this.#over.signal };
  }

  service(url = this.access.baseUrl, apiKey = this.access.apiKey): Service {
    return new Service({ url, apiKey, signal: this.#over.signal });
  }

  async session(options: Partial<LiveSessionOptions> & { readonly url?: string } = {}): Promise<LiveSession> {
    const { url, ...rest } = options;
    const session = await openLiveSession(this.cli(), this.service(url), { appName: APP, ...rest });
    this.#sessions.push(session);
    return session;
  }

  /** Ctrl+C in all commands of this fixture. */
  interrupt(): void {
    this.#over.abort(new Interruption());
  }

  /** Resolves when a line like this was shown. */
  async shown(pattern: RegExp): Promise<string> {
    while (true) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** What the service has of this account. */
  async present(): Promise<readonly PresentSession[]> {
    const { myself } = await this.#api.query<{
      myself: { flashApps: readonly { flashEnvironments: readonly PresentSession[] }[] };
    }>(
      "query { myself { flashApps { flashEnvironments { id name leaseExpiresAt endpoints { id name workersMax } } } } }",
    );
    return myself.flashApps.flatMap(({ flashEnvironments }) => flashEnvironments);
  }

  /** Ends a session, or deletes an endpoint, as somebody else would. */
  async delete(kind: "FlashEnvironment" | "Endpoint", id: string): Promise<void> {
    const argument = kind === "Endpoint" ? "id" : "flashEnvironmentId";
    if (kind === "Endpoint") {
      await this.#api.query("mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id } }", {
        input: { id, workersMin: 0, workersMax: 0 },
      });
    }
    await this.#api.query(`mutation ($id: String) { delete${kind}(${argument}: $id) }`, { id });
  }

  #shown(text: string): void {
    this.#lines.push(...stripVTControlCharacters(text).split("\n").filter(Boolean));
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) await session.close();
    this.interrupt();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** A declaration of app code, as far as a session looks at it. */
export function declared(name: string, resource: Partial<ManifestResource> = {}): LiveEndpoint {
  return {
    name,
    resource: {
      is_load_balanced: false,
      functions: [],
      imageName: "edgerun/flash-cpu:py3.12-latest",
      instanceIds: ["cpu3c-1-2"],
      ...resource,
    },
    code: {
      execution_type: "function",
      module: name,
      modules: {},
      dependencies: [],
      system_dependencies: [],
      accelerate_downloads: true,
    },
    peers: [],
    filePath: `${name}.py`,
    line: 1,
  };
}
