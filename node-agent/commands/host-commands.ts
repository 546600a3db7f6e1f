/** The commands with which people care for a host. */
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { readArtifactUsage } from "../artifacts/artifact-usage.ts";
import { checkHost } from "../doctor/checks.ts";
import { readFacts } from "../doctor/read-facts.ts";
import { exitCodeOf, reportLines } from "../doctor/report.ts";
import { checkedEdgeUrl } from "../edge/edge-url.ts";
import { edgeOption, plainHttpOption, stateOption } from "./options.ts";
import type { RuntimeKind } from "../runtime/create-runtime.ts";
import { PINNED_KEY } from "../host/agent-signature.ts";
import { isConnected, statusLines, waitForAgent } from "./status.ts";
import { uninstall } from "./uninstall.ts";
import { upgrade } from "./upgrade.ts";

const SECOND_MS = 1_000;
const CONNECT_SECONDS = 60;
const DRAIN_SECONDS = 600;

type Flags = { readonly edge?: string; readonly allowPlainHttp: boolean; readonly state: string };

export function hostCommands(): readonly Command[] {
  return [doctorCommand(), statusCommand(), upgradeCommand(), uninstallCommand()];
}

function doctorCommand(): Command {
  return new Command("doctor")
    .description("Look at everything that a host needs, and say how to mend what is wrong.")
    .addOption(edgeOption())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .addOption(new Option("--runtime <kind>", "what shall run the workers").env("EDGERUN_RUNTIME"))
    .option("--json", "findings as JSON", false)
    .action(async (flags: Flags & { readonly runtime?: RuntimeKind; readonly json: boolean }) => {
      const { edge: edgeUrl, allowPlainHttp, state, runtime: requestedRuntime } = flags;
      const stateDir = resolve(state);
      const findings = checkHost(await readFacts({ edgeUrl, allowPlainHttp, stateDir, requestedRuntime }));
      if (flags.json) say(JSON.stringify({ findings }, null, 2));
      else reportLines(findings).forEach(say);
      process.exit(exitCodeOf(findings)); // a connection kept alive must not hold it
    });
}

function statusCommand(): Command {
  return new Command("status")
    .description("Say what runs on this host. Fails when no agent runs, or it has not heard the edge.")
    .addOption(stateOption())
    .option("--wait <seconds>", "wait so long for an agent that has heard the edge", seconds, 0)
    .option("--json", "as JSON", false)
    .action(async (flags: Flags & { readonly wait: number; readonly json: boolean }) => {
      const stateDir = resolve(flags.state);
      const status =
        (await waitForAgent(stateDir, flags.wait * SECOND_MS, isConnected)) ??
        (await waitForAgent(stateDir, 0, () => true));
      if (!status) throw new Error("No agent runs on this host. See: journalctl -u edgerun-agent");
      const usage = await readArtifactUsage(stateDir);
      if (flags.json) say(JSON.stringify({ ...status, artifacts: usage }, null, 2));
      else statusLines(status, Date.now(), usage).forEach(say);
      process.exitCode = isConnected(status) ? 0 : 1;
    });
}

function upgradeCommand(): Command {
  return new Command("upgrade")
    .description("Replace the agent by that of the edge. Workers and their jobs go on meanwhile.")
    .addOption(edgeOption().makeOptionMandatory())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .option("--wait <seconds>", "time in which the new agent must connect", seconds, CONNECT_SECONDS)
    .option("--accept-key <key>", "key that signs the new agent, where the installation has lost its own")
    .action(async (flags: Required<Flags> & { readonly wait: number; readonly acceptKey?: string }) => {
      const agentPath = process.argv[1] ?? "";
      if (!agentPath.endsWith(".mjs")) throw new Error("This agent was not installed as one file.");
      process.exitCode = await upgrade({
        edgeUrl: checkedEdgeUrl(flags.edge, flags.allowPlainHttp),
        stateDir: resolve(flags.state),
        agentPath,
        connectLimitMs: flags.wait * SECOND_MS,
        trustedKey: flags.acceptKey ?? PINNED_KEY,
        say,
      });
    });
}

function uninstallCommand(): Command {
  return new Command("uninstall")
    .description("Finish what runs, then remove the agent and all that it has made on this host.")
    .addOption(edgeOption())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .option("--wait <seconds>", "how long running jobs may take", seconds, DRAIN_SECONDS)
    .option("--now", "do not wait for running jobs", false)
    .action(async (flags: Flags & { readonly wait: number; readonly now: boolean }) => {
      const drainLimitMs = flags.now ? 0 : flags.wait * SECOND_MS;
      process.exitCode = await uninstall({
        edgeUrl: flags.edge === undefined ? undefined : checkedEdgeUrl(flags.edge, flags.allowPlainHttp),
        stateDir: resolve(flags.state),
        drainLimitMs,
        say,
      });
    });
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError("It must be a number of seconds.");
  }
  return value;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
