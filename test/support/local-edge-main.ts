/** Opens the local edge as `flash dev --local` does, says where it is, and closes it at Ctrl+C. */
import { Secrets } from "../../cli/activity/secrets.ts";
import type { Cli } from "../../cli/cli.ts";
import { Failure } from "../../cli/failure.ts";
import { Interruptions } from "../../cli/interruption.ts";
import { openLocalEdge } from "../../cli/local/local-edge.ts";
import { ConsoleTerminal } from "../../cli/terminal/console-terminal.ts";

const { signal } = new Interruptions(() => {});
const secrets = new Secrets(process.env);
const terminal = new ConsoleTerminal({
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
  environment: process.env,
  signal,
  redact: (text) => secrets.redact(text),
  log: () => {},
});
const cli: Cli = { directory: process.cwd(), environment: process.env, terminal, signal };
const runtime = process.argv[2] === "docker" ? "docker" : "process";
try {
  const edge = await openLocalEdge(cli, { runtime });
  process.stdout.write(`open ${edge.url} ${edge.apiKey}\n`);
  const stay = setInterval(() => {}, 60_000);
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  clearInterval(stay);
  await edge.close();
  process.stdout.write("closed\n");
} catch (error) {
  terminal.close();
  if (!(error instanceof Failure)) throw error;
  process.stdout.write(`${[error.message, ...error.advice].join("\n")}\n`);
  process.exitCode = error.exitCode;
}
