/** Runs the scenario files. `UPDATE_SCENARIOS=1` writes into them what the command says now; read the difference. */
import { readdirSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type LoneEdge, startLoneEdge } from "../support/lone-edge.ts";
import { Desk, layOutBundle } from "./support/flash-command.ts";
import { makeEndpoint } from "./support/deployed-endpoint.ts";
import { plainOutput } from "./support/plain-output.ts";
import { formatScenarios, parseScenarios, type Scenario, type Step } from "./support/scenario-file.ts";

const FOLDER = join(import.meta.dirname, "scenarios");
const IS_UPDATE = process.env["UPDATE_SCENARIOS"] === "1";

let bundle = "";
beforeAll(async () => {
  bundle = await layOutBundle();
});
afterAll(async () => {
  await rm(dirname(bundle), { recursive: true });
});

for (const fileName of readdirSync(FOLDER).filter((name) => name.endsWith(".txt"))) {
  const path = join(FOLDER, fileName);
  const file = parseScenarios(readFileSync(path, "utf8"));

  describe(fileName, () => {
    let edge: LoneEdge | undefined;
    const seen: Scenario[] = [];
    beforeAll(async () => {
      if (file.needsEdge) edge = await startLoneEdge();
    });
    afterAll(async () => {
      await edge?.[Symbol.asyncDispose]();
      if (IS_UPDATE) await writeFile(path, formatScenarios({ ...file, scenarios: seen }));
    });

    test.for(file.scenarios)("$title", async (scenario, { expect }) => {
      const steps = await play(scenario, edge);
      seen.push({ ...scenario, steps });
      if (!IS_UPDATE) expect(steps).toEqual(scenario.steps);
    });
  });
}

async function play(scenario: Scenario, edge: LoneEdge | undefined): Promise<readonly Step[]> {
  const { endpoints, files } = scenario;
  const service = edge && { EDGERUN_URL: edge.baseUrl, SVC_API_KEY: edge.apiKey };
  await using desk = await Desk.open(bundle, service);
  for (const { path, lines } of files) await desk.write(path, `${lines.join("\n")}\n`);
  if (edge) for (const endpoint of endpoints) await makeEndpoint(edge, endpoint);
  const steps: Step[] = [];
  for (const { command } of scenario.steps) {
    const { stdout, stderr, exitCode = -1 } = await desk.run(command);
    const plain = (text: string): string[] => plainOutput(text, { desk, edge });
    steps.push({ command, stdout: plain(stdout), stderr: plain(stderr), exitCode });
  }
  return steps;
}
