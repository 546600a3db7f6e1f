/** The scenario files as tests. `UPDATE_SCENARIOS=1` writes into them what the command says now; read the difference. */
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import type { EdgeAccess } from "../../support/lone-edge.ts";
import { CommandFixture } from "./flash-command.ts";
import { idsOf, makeEndpoint } from "./deployed-endpoint.ts";
import { plainOutput } from "./plain-output.ts";
import { formatScenarios, parseScenarios, type Scenario, type Step } from "./scenario-file.ts";
import { newAccount } from "../../support/shared-edge.ts";

const FOLDER = join(import.meta.dirname, "../scenarios");
const IS_UPDATE = process.env["UPDATE_SCENARIOS"] === "1";

/** Declares the tests of the scenario files of these names. */
export function testScenarios(isOurs: (fileName: string) => boolean): void {
  for (const fileName of scenarioFiles().filter(isOurs)) {
    const path = join(FOLDER, fileName);
    const file = parseScenarios(readFileSync(path, "utf8"));

    // With an edge one scenario may leave something to the next.
    describe(fileName, { concurrent: !file.needsEdge }, () => {
      let access: EdgeAccess | undefined;
      const seen = new Map<Scenario, Scenario>();
      beforeAll(async () => {
        if (file.needsEdge) access = await newAccount(fileName);
      });
      afterAll(async () => {
        const scenarios = file.scenarios.flatMap((scenario) => seen.get(scenario) ?? []);
        const isWhole = scenarios.length === file.scenarios.length;
        if (IS_UPDATE && isWhole) await writeFile(path, formatScenarios({ ...file, scenarios }));
      });

      test.for(file.scenarios)("$title", async (scenario, { expect }) => {
        await using fixture = await openFixture(access);
        const steps = await play(scenario, fixture, access);
        seen.set(scenario, { ...scenario, steps });
        if (!IS_UPDATE) expect(steps).toEqual(scenario.steps);
      });
    });
  }
}

function scenarioFiles(): readonly string[] {
  return readdirSync(FOLDER).filter((name) => name.endsWith(".txt"));
}

async function openFixture(access: EdgeAccess | undefined): Promise<CommandFixture> {
  return await CommandFixture.open(
    inject("flashBundle"),
    access && { EDGERUN_URL: access.baseUrl, SVC_API_KEY: access.apiKey },
  );
}

async function play(
  scenario: Scenario,
  fixture: CommandFixture,
  access: EdgeAccess | undefined,
): Promise<readonly Step[]> {
  const { endpoints, files } = scenario;
  for (const { path, lines } of files) await fixture.write(path, `${lines.join("\n")}\n`);
  if (access) for (const endpoint of endpoints) await makeEndpoint(access, endpoint);
  const ids = new Set<string>();
  const steps: Step[] = [];
  await learn(ids, access);
  for (const { command } of scenario.steps) {
    const { stdout, stderr, exitCode = -1 } = await fixture.run(command);
    await learn(ids, access);
    const plain = (text: string): string[] => plainOutput(text, { fixture, edge: access, ids });
    steps.push({ command, stdout: plain(stdout), stderr: plain(stderr), exitCode });
  }
  return steps;
}

/** What a command has deleted was there before it. */
async function learn(ids: Set<string>, access: EdgeAccess | undefined): Promise<void> {
  for (const id of access ? await idsOf(access) : []) ids.add(id);
}
