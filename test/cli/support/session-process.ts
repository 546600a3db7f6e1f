/** What `flash dev` does of a live session, as a process that can be killed: it places `one` and waits. */
import { once } from "node:events";
import { openLiveSession } from "../../../cli/dev/session/open-session.ts";
import { findLeftovers, offerRemoval } from "../../../cli/dev/session/leftovers.ts";
import { Interruptions } from "../../../cli/core/interruption.ts";
import { Service } from "../../../cli/service/service.ts";
import { ConsoleTerminal } from "../../../cli/terminal/console-terminal.ts";
import { APP, declared } from "./live-fixture.ts";

const [url = "", apiKey = "", crash] = process.argv.slice(2);
const interruptions = new Interruptions(
  (left) => {
    for (const line of left) terminal.warn(line);
  },
  (error) => terminal.fail(String(error)),
);
for (const stream of [process.stdout, process.stderr]) stream.on("error", interruptions.onOutputError);
const { signal } = interruptions;
// As a shell hands on what the system has sent already.
signal.addEventListener("abort", () => process.emit("SIGHUP", "SIGHUP"));
const terminal = new ConsoleTerminal({
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
  environment: process.env,
  signal,
  redact: (text) => text,
  log: () => undefined,
});
const cli = {
  directory: process.cwd(),
  environment: process.env,
  terminal,
  signal,
  onForceQuit: interruptions.addForceQuitMessage,
};
const service = new Service({ url, apiKey, signal });
const leftovers = await offerRemoval(cli, service, await findLeftovers(cli, service));
const session = await openLiveSession(cli, service, { appName: APP, leftovers });
const { endpointId } = await session.place(declared("one"));
terminal.say(`placed ${endpointId}`);
if (crash !== undefined) void Promise.reject(new Error(crash));
const stillThere = setInterval(() => undefined, 1_000);
if (!signal.aborted) await once(signal, "abort");
clearInterval(stillThere);
terminal.say("closing");
const { deleted } = await session.close();
terminal.say(`deleted ${deleted}`);
process.exit(130);
