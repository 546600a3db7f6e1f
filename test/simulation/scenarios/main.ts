/** Runs the scenarios of shared GPUs. Exit code 1: something was wrong. `--help` has the options. */
import { join, resolve } from "node:path";
import { Command } from "commander";
import { installModules } from "../runtime/modules.ts";

type Options = { readonly length: string; readonly only: string; readonly code: string };

const options = new Command("node test/simulation/scenarios/main.ts")
  .description(
    "Runs endpoints that share GPUs in simulated time, with the production code of edge and agent.",
  )
  .option("--length <factor>", "how many times as long as in the tests", "1")
  .option("--only <name>", "only scenarios with this in their name", "")
  .option("--code <directory>", "the checkout whose code runs", join(import.meta.dirname, "../../.."))
  .parse()
  .opts<Options>();

installModules(undefined);
const { installGlobals } = await import("../world/globals.ts");
const { installWebTypes } = await import("../runtime/web-types.ts");
const { loadEdge } = await import("../runtime/edge.ts");
const { loadAgent } = await import("../host/host.ts");
const { Network } = await import("../runtime/network.ts");
const { World } = await import("../world/world.ts");
const { runScenario } = await import("./shared-gpus.ts");
const { SCENARIOS, summarize } = await import("./scenarios.ts");

const EVENTS_MAX = 50_000_000;
let network: InstanceType<typeof Network> | undefined;
installGlobals();
installWebTypes(() => {
  if (!network) throw new Error("No scenario runs.");
  return network;
});
const { log } = console;
// What the code logs would drown what was seen.
console.log = console.warn = console.error = () => {};

const checkout = resolve(options.code);
const code = { edge: await loadEdge(checkout), agent: await loadAgent(checkout) };
let isRight = true;
for (const { name, of, check } of SCENARIOS.filter((one) => one.name.includes(options.only))) {
  const world = new World(1, EVENTS_MAX);
  network = new Network(world);
  const scenario = of(world.random.fork(), Number(options.length));
  const outcome = await runScenario(scenario, code, world, network);
  log(`${name}\n${summarize(outcome, scenario)}`);
  for (const what of check(outcome)) {
    isRight = false;
    log(`  wrong: ${what}`);
  }
}
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(isRight ? 0 : 1);
