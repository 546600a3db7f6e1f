import { expect, test } from "vitest";
import { planHistory } from "../simulation/history/plan.ts";
import { chartOf } from "../simulation/report/chart.ts";
import { shrink } from "../simulation/report/shrink.ts";
import { Random } from "../simulation/world/random.ts";

const line = (at: number, what: string, machine = "agent") => ({ at, machine, what });

test("a chart has calls as arrows and all else as notes", () => {
  const chart = chartOf([
    line(1, "starts"),
    line(2, "calls POST /v2/x/run"),
    line(3, "calls endpoint x#0.exchange"),
  ]);
  expect(chart.split("\n")).toEqual([
    "sequenceDiagram",
    "  participant p1 as agent",
    "  participant p2 as script",
    "  participant p3 as endpoint x 0",
    "  Note over p1: 1 ms starts",
    "  p1->>p2: 2 ms POST /v2/x/run",
    "  p1->>p3: 3 ms exchange",
  ]);
});

test("a long history is drawn up to what was wrong, as far back as Mermaid can draw it", () => {
  const before = Array.from({ length: 3_000 }, (_, at) =>
    line(at, `does something that takes a line, ${at}`),
  );
  const after = Array.from({ length: 3_000 }, (_, at) => line(3_001 + at, "goes on"));
  const chart = chartOf([...before, line(3_000, "a mistake", "invariants"), ...after]);
  expect(chart.length).toBeLessThan(50_000);
  expect(chart.length).toBeGreaterThan(30_000);
  expect(chart).toContain("3000 ms a mistake");
  expect(chart).toContain("2999 ms does something");
  expect(chart).toMatch(/\d+ earlier events are left out\n.*\n/);
  expect(chart).toMatch(/2996 later events are left out$/);
});

test("a plan is shrunk to what is needed, and each thing is tried few times", async () => {
  const plan = {
    ...planHistory(new Random(3)),
    faults: new Map([
      ["agentKilled", 3],
      ["callsLost", 0.1],
      ["d1Fails", 0.1],
    ] as const),
    ...{ clientCount: 4, operationCount: 12, hasPods: true, hasLogs: true },
  };
  let tries = 0;
  const smallest = await shrink(plan, async ({ faults, clientCount, operationCount, hasPods }) => {
    tries += 1;
    return faults.has("agentKilled") && clientCount >= 2 && operationCount >= 5 && hasPods;
  });
  expect([...smallest.faults.keys()]).toEqual(["agentKilled"]);
  expect(smallest).toMatchObject({ clientCount: 2, operationCount: 5, hasPods: true, hasLogs: false });
  expect(tries).toBeLessThan(120);
});
