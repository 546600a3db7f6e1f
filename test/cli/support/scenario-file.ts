/**
 * Scenario files: what a person types, and what they are shown.
 *
 *     === one thing that is so
 *     file app/main.py:
 *         print("hello")
 *     endpoint: gpu_worker in production of demo
 *
 *     $ flash undeploy list
 *     stdout:
 *         STATE   NAME        ID
 *         active  gpu_worker  <id>
 *     exit: 0
 *
 * A scenario has a project directory of its own, called `demo`, and a home of its own. Before the first command stand
 * the files and the endpoints that are there; each command is a line for bash. Text of a file or of an output is
 * indented by four spaces; an output that is not mentioned is empty. A scenario file that says `edge: yes` before its
 * first scenario has an account of its own at a running edge, whose address and key are in EDGERUN_URL and SVC_API_KEY.
 */
const INDENT = "    ";

export type Step = {
  readonly command: string;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly exitCode: number;
};

export type Scenario = {
  readonly title: string;
  readonly files: readonly { readonly path: string; readonly lines: readonly string[] }[];
  readonly endpoints: readonly {
    readonly name: string;
    readonly environment: string;
    readonly app: string;
  }[];
  readonly steps: readonly Step[];
};

export type ScenarioFile = {
  /** Everything before the first scenario. */
  readonly preamble: readonly string[];
  readonly needsEdge: boolean;
  readonly scenarios: readonly Scenario[];
};

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
type OpenScenario = {
  title: string;
  files: Scenario["files"][number][];
  endpoints: Scenario["endpoints"][number][];
  steps: Mutable<Step>[];
};

export function parseScenarios(text: string): ScenarioFile {
  const [preamble = "", ...rest] = text.split(/^=== /m);
  return {
    preamble: trimmed(preamble.split("\n")),
    needsEdge: /^edge: yes$/m.test(preamble),
    scenarios: rest.map(parseScenario),
  };
}

export function formatScenarios({ preamble, scenarios }: ScenarioFile): string {
  return [[...preamble].join("\n"), ...scenarios.map(formatScenario)].filter(Boolean).join("\n\n") + "\n";
}

function parseScenario(text: string): Scenario {
  const [title = "", ...lines] = text.split("\n");
  const scenario: OpenScenario = { title: title.trim(), files: [], endpoints: [], steps: [] };
  while (lines.length > 0) parseLine(scenario, lines.shift() ?? "", () => takeIndented(lines));
  return scenario;
}

function parseLine(scenario: OpenScenario, line: string, indented: () => string[]): void {
  if (line.trim() === "") return;
  const step = scenario.steps.at(-1);
  if (line.startsWith("$ ")) {
    scenario.steps.push({ command: line.slice(2), stdout: [], stderr: [], exitCode: 0 });
    return;
  }
  const isKnown = step ? parseResult(step, line, indented) : parseGiven(scenario, line, indented);
  if (!isKnown) throw new Error(`scenario '${scenario.title}': this line is not understood: ${line}`);
}

function parseGiven(scenario: OpenScenario, line: string, indented: () => string[]): boolean {
  const [, path] = /^file (.+):$/.exec(line) ?? [];
  const [, name, environment, app] = /^endpoint: (\S+) in (\S+) of (\S+)$/.exec(line) ?? [];
  if (path !== undefined) scenario.files.push({ path, lines: indented() });
  else if (name && environment && app) scenario.endpoints.push({ name, environment, app });
  else return false;
  return true;
}

function parseResult(step: Mutable<Step>, line: string, indented: () => string[]): boolean {
  if (line === "stdout:") step.stdout = indented();
  else if (line === "stderr:") step.stderr = indented();
  else if (/^exit: \d+$/.test(line)) step.exitCode = Number(line.slice("exit: ".length));
  else return false;
  return true;
}

/** Takes indented lines, and the empty ones between them, off the front. */
function takeIndented(lines: string[]): string[] {
  const end = lines.findIndex((line) => line !== "" && !line.startsWith(INDENT));
  const taken = lines.splice(0, end < 0 ? lines.length : end);
  return trimmed(taken.map((line) => line.slice(INDENT.length)));
}

function formatScenario({ title, files, endpoints, steps }: Scenario): string {
  const given = [
    ...files.map(({ path, lines }) => [`file ${path}:`, ...indentedLines(lines)].join("\n")),
    ...endpoints.map(({ name, environment, app }) => `endpoint: ${name} in ${environment} of ${app}`),
  ];
  const head = [`=== ${title}`, ...given].join("\n");
  return [head, ...steps.map(formatStep)].join("\n\n");
}

function formatStep({ command, stdout, stderr, exitCode }: Step): string {
  return [
    `$ ${command}`,
    ...(stdout.length > 0 ? ["stdout:", ...indentedLines(stdout)] : []),
    ...(stderr.length > 0 ? ["stderr:", ...indentedLines(stderr)] : []),
    `exit: ${exitCode}`,
  ].join("\n");
}

function indentedLines(lines: readonly string[]): string[] {
  return lines.map((line) => (line === "" ? "" : INDENT + line));
}

/** Without empty lines at the end. */
function trimmed(lines: readonly string[]): string[] {
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== "") + 1);
}
