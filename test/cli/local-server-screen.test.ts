/** What a person reads of the local server. */
import { test } from "vitest";
import type { AppChange } from "../../cli/dev/app/live-app.ts";
import { showChange } from "../../cli/dev/dev.ts";
import { showStartupTable } from "../../cli/server/startup-table.ts";
import { openCallLog } from "../../cli/server/terminal-call-log.ts";
import { parameter, queueEndpoint, quietCli, routedEndpoint } from "./support/scripted-app.ts";

/** The lines that stay, with words for what differs from run to run. */
function linesOf(screen: string): readonly string[] {
  return rowsOf(screen)
    .map((line) => line.trimEnd().replace(/\d\d:\d\d:\d\d/, "<time>"))
    .filter((line) => line !== "");
}

/** What a terminal shows in the end that follows line breaks, moves of the cursor to rows above, and clears. */
function rowsOf(screen: string): readonly string[] {
  const rows = [""];
  let row = 0;
  const visible = screen.replaceAll("\u001B", "␛");
  for (const [part, count] of visible.matchAll(/\r|\n|␛\[(\d+)A|␛\[[\d;?]*[a-zA-Z]|[^\r\n␛]+|␛/g)) {
    if (part === "\n") rows[(row += 1)] ??= "";
    else if (count !== undefined) row -= Number(count);
    else if (part === "␛[J") rows.splice(row, Infinity, "");
    else if (part === "␛[K") rows[row] = "";
    else if (!part.startsWith("␛") && part !== "\r") rows[row] += part;
  }
  return rows;
}

test("the startup table names every call, with its description and its kind", async ({ expect }) => {
  const { cli, screen } = quietCli();
  const long = "Draws a picture of what the text says, in the style that the second argument names.";
  showStartupTable(
    cli,
    [
      queueEndpoint("draw", [parameter("text")], {
        resource: {
          is_load_balanced: false,
          functions: [{ name: "draw", module: "draw", description: long }],
        },
      }),
      routedEndpoint("api", [{ route: "POST /process" }, { route: "GET /health" }]),
      queueEndpoint("broken", [], { problem: "broken.py:3: SyntaxError: invalid syntax" }),
    ],
    {
      url: "http://localhost:8889",
      port: 8889,
      isMoved: true,
      openPort: async () => "",
      close: async () => {},
    },
  );
  expect(linesOf(screen())).toEqual([
    "✓ Serving on http://localhost:8889",
    "Call                  Description                                                   Type",
    "POST /draw/runsync    Draws a picture of what the text says, in the style that th…  QB",
    "POST /api/process     Answers POST /process.                                        LB",
    "GET /api/health       Answers GET /health.                                          LB",
    "POST /broken/runsync  What broken does.                                             QB",
    "! broken cannot be called now: broken.py:3: SyntaxError: invalid syntax",
    "Try them at http://localhost:8889/docs. Ctrl+C stops.",
  ]);
});

test("in a terminal a call is told from its request to its end", async ({ expect }) => {
  const { cli, screen } = quietCli({ isTerminal: true });
  const log = openCallLog(cli);
  const first = log.begin({ method: "POST", path: "/hello/runsync" });
  first.waiting("The image is being pulled.");
  first.waiting("The image is being pulled.");
  const second = log.begin({ method: "GET", path: "/api/health" });
  first.running({ id: "w1", gpu: "NVIDIA A40" });
  first.printed("\u001B[2Jloading\u0007 model");
  second.fail("ValueError: no (api.py:3)", "Traceback:\n  api.py:3\nValueError: no\n");
  first.done({ ranMs: 1_234, queuedMs: 8_000 });
  first.printed("bye");
  first.fail("too late");
  expect(linesOf(screen())).toEqual([
    "  <time> #1 POST /hello/runsync",
    "  <time> #1 The image is being pulled.",
    "  <time> #2 GET /api/health",
    "  <time> #1 runs on w1 (NVIDIA A40)",
    "           #1 │ loading model",
    "✗ <time> #2 GET /api/health: ValueError: no (api.py:3)",
    "           Traceback:",
    "             api.py:3",
    "✓ <time> #1 POST /hello/runsync (1.2 s, waited 8.0 s)",
    "           #1 │ bye",
  ]);
});

test("the lines of a worker stand with their call, however late they come", ({ expect }) => {
  const { cli, screen } = quietCli({ isTerminal: true });
  const log = openCallLog(cli);
  const first = log.begin({ method: "POST", path: "/hello/runsync" });
  const logShown = first.awaitLog();
  first.done({ ranMs: 12 });
  const second = log.begin({ method: "POST", path: "/hello/runsync" });
  second.fail("ValueError: no");
  expect(linesOf(screen())).not.toContain("✗ <time> #2 POST /hello/runsync: ValueError: no");
  log.between(() => cli.terminal.done("Reloaded"));
  first.printed("loaded");
  logShown();
  expect(linesOf(screen())).toEqual([
    "  <time> #1 POST /hello/runsync",
    "✓ <time> #1 POST /hello/runsync (12 ms)",
    "           #1 │ loaded",
    "  <time> #2 POST /hello/runsync",
    "✗ <time> #2 POST /hello/runsync: ValueError: no",
    "✓ Reloaded",
  ]);
});

test("without a terminal only what is printed and how calls end is shown; the log has all", async ({
  expect,
}) => {
  const { cli, screen, logged } = quietCli();
  const line = openCallLog(cli).begin({ method: "POST", path: "/hello/run" });
  line.waiting("No host is there.");
  line.running({ id: "w1" });
  line.printed("hello");
  line.done({ ranMs: 12, queuedMs: 3 });
  expect(linesOf(screen())).toEqual(["           #1 │ hello", "✓ <time> #1 POST /hello/run (12 ms)"]);
  expect(linesOf(logged.join("\n"))).toEqual([
    "  <time> #1 POST /hello/run",
    "  <time> #1 No host is there.",
    "  <time> #1 runs on w1",
    "           #1 │ hello",
    "✓ <time> #1 POST /hello/run (12 ms)",
  ]);
});

test("a change of files is told by what it means for calls", ({ expect }) => {
  const nothing = { added: [], removed: [], changed: [], reconfigured: [], problems: [], warnings: [] };
  const told = (change: Partial<AppChange>): readonly string[] => {
    const { cli, screen } = quietCli();
    showChange(cli.terminal, { ...nothing, ...change });
    return linesOf(screen());
  };
  expect(told({ changed: ["a", "b"], reconfigured: ["b"], added: ["c"] })).toEqual([
    "✓ Reloaded: changed a; reconfigured b; added c",
  ]);
  expect(told({ changed: ["a"], problems: ["b.py:3: no", "c.py:1: no"] })).toEqual([
    "✓ Reloaded: changed a",
    "✗ b.py:3: no",
    "✗ c.py:1: no",
    "  All other functions are unaffected.",
  ]);
  expect(told({})).toEqual(["✓ Reloaded: all problems are fixed"]);
});

test("the ^C that a terminal writes is not left before the next line", ({ expect }) => {
  const { cli, screen, interrupt } = quietCli({ isTerminal: true });
  cli.terminal.say("Ctrl+C stops.");
  interrupt();
  cli.terminal.done("Deleted.");
  expect(screen()).toBe("Ctrl+C stops.\n\r\u001B[K✓ Deleted.\n");
});
