/** Opens the live app of the working directory, and stays. */
import { PassThrough } from "node:stream";
import { openLiveApp } from "../../../cli/dev/app/watched-app.ts";
import { ConsoleTerminal } from "../../../cli/terminal/console-terminal.ts";

const { signal } = new AbortController();
const environment = process.env;
const terminal = new ConsoleTerminal({
  streams: { input: new PassThrough(), output: process.stderr, errors: process.stderr },
  environment,
  signal,
  redact: (line) => line,
  log: () => {},
});
await openLiveApp(
  { directory: process.cwd(), environment, terminal, signal },
  { appName: "shop", reloads: true },
);
process.stdout.write("open\n");
