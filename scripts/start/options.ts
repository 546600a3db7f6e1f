import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { problemOfRootKey } from "../../src/contract/root-key.ts";
import { portIssue } from "../../src/net/port.ts";
import type { RuntimeKind } from "../../standalone/agent.ts";

export type StartOptions = {
  readonly port: number;
  readonly stateDirectory: string;
  readonly apiKey: string | undefined;
  readonly hasAgent: boolean;
  readonly hasExample: boolean;
  readonly isOnce: boolean;
  /** No line for each job. */
  readonly isQuiet: boolean;
  /** Webhooks may have addresses of this machine and of private networks. */
  readonly allowsPrivateWebhooks: boolean;
  /** Port at which DevTools may inspect the edge; undefined: none. */
  readonly inspectorPort: number | undefined;
  /** Undefined: docker when a daemon answers, else process. */
  readonly runtime: RuntimeKind | undefined;
};

type Flags = {
  readonly port: number;
  readonly state: string;
  readonly apiKey?: string;
  readonly agent: boolean;
  readonly example: boolean;
  readonly once: boolean;
  readonly quiet: boolean;
  readonly allowPrivateWebhooks: boolean;
  readonly inspect?: number;
  readonly runtime?: RuntimeKind;
};

function parsePort(text: string): number {
  const problem = portIssue(text);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return Number(text);
}

/** Reads the options of `npm start`; ends the process with a usage message when they make no sense. */
export function parseOptions(argv: readonly string[]): StartOptions {
  const flags = new Command("npm start --")
    .description("Starts Edgerun on this machine: the edge, one agent, and an example endpoint.")
    .option("--port <number>", "port of the edge on 127.0.0.1", parsePort, 8787)
    .option("--state <directory>", "where data, key and logs are stored", ".edgerun")
    .option(
      "--api-key <key>",
      "API key to accept, of at least 32 characters (default: generated once, stored in the state directory)",
    )
    .option("--no-agent", "run the edge only; no example either")
    .option("--no-example", "create no example endpoint")
    .option("--once", "stop after the example job; exit code 0 only if it completed", false)
    .option("--quiet", "print no line for each job", false)
    .option("--allow-private-webhooks", "webhooks may have addresses of this machine and its networks", false)
    .option("--inspect <port>", "let DevTools inspect the edge, at this port of 127.0.0.1", parsePort)
    .addOption(
      new Option("--runtime <kind>", "how workers run (default: docker if a daemon answers)").choices([
        "docker",
        "process",
      ]),
    )
    .allowExcessArguments(false)
    .parse(argv, { from: "user" })
    .opts<Flags>();
  const problem = problemOfRootKey(flags.apiKey);
  if (problem !== undefined) {
    console.error(`--api-key: ${problem}`); // commander would repeat the key
    process.exit(1);
  }
  const hasExample = flags.agent && flags.example;
  if (flags.once && !hasExample) {
    console.error("--once waits for the example job, so it cannot go with --no-agent or --no-example.");
    process.exit(1);
  }
  return {
    port: flags.port,
    stateDirectory: resolve(flags.state),
    apiKey: flags.apiKey,
    hasAgent: flags.agent,
    hasExample,
    isOnce: flags.once,
    isQuiet: flags.quiet,
    allowsPrivateWebhooks: flags.allowPrivateWebhooks,
    inspectorPort: flags.inspect,
    runtime: flags.runtime,
  };
}
