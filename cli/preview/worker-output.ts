import { followEndpointLog, type LogLine } from "../calls/endpoint-log.ts";
import { readPrintedLine } from "../calls/printed-text.ts";
import type { Cli } from "../core/cli.ts";
import type { Service } from "../service/service.ts";

const LINES_MAX = 1_000;
const LINES_KEPT = 50;

/** Shows what the workers of a preview print, and keeps the last lines of each endpoint. */
export class WorkerOutput {
  readonly #cli: Cli;
  readonly #service: Service;
  readonly #since: number;
  readonly #lines = new Map<string, string[]>();

  /** `since`: when the first worker may have started, in ms. */
  constructor(cli: Cli, service: Service, since: number) {
    this.#cli = cli;
    this.#service = service;
    this.#since = since;
  }

  /** Shows lines of the endpoint until the command ends. */
  follow(endpointId: string, name: string): void {
    let since = this.#since;
    const onLine = (line: LogLine): void => {
      since = (line.at ?? since) + 1;
      if (line.source !== "system") this.#show(name, line.line);
    };
    const { signal } = this.#cli;
    const reader = { since: () => since, limit: LINES_MAX, onLine, signal };
    void followEndpointLog(this.#service, endpointId, reader);
  }

  /** Oldest first. */
  lastLines(name: string): readonly string[] {
    return this.#lines.get(name) ?? [];
  }

  #show(name: string, printed: string): void {
    const { terminal } = this.#cli;
    const texts = readPrintedLine(printed);
    this.#lines.set(name, [...(this.#lines.get(name) ?? []), ...texts].slice(-LINES_KEPT));
    for (const text of texts) terminal.say(`  ${terminal.palette.dim(`${name} │`)} ${text}`);
  }
}
