/** Where the server of a worker listens and is probed for its health, from the variables of its endpoint. */
import type { Assignment } from "../../../src/contract/agent/agent.ts";
import type { ServerSettings } from "../../journal/journal.ts";

const PORT_DEFAULT = 80;
const PATH_DEFAULT = "/ping";
const PATH_MAX_LENGTH = 2_000;
const PORT_MAX = 65_535;
/** Characters of a request target: printable ASCII without blanks, and no fragment. */
const PATH = /^\/[!-"$-~]*$/;

export type ReadSettings =
  | { readonly kind: "settings"; readonly settings: ServerSettings }
  /** The message names the variable. */
  | { readonly kind: "problem"; readonly problem: string };

export function readServerSettings(env: Readonly<Record<string, string>>): ReadSettings {
  const port = readPort(env["PORT"], PORT_DEFAULT);
  if (port === null) return badPort("PORT", env["PORT"]);
  const healthPort = readPort(env["PORT_HEALTH"], port);
  if (healthPort === null) return badPort("PORT_HEALTH", env["PORT_HEALTH"]);
  const healthPath = env["HEALTH_CHECK_PATH"]?.trim() || PATH_DEFAULT;
  if (!PATH.test(healthPath) || healthPath.length > PATH_MAX_LENGTH) {
    const problem = `HEALTH_CHECK_PATH is "${shortened(healthPath)}"; it must be a path that begins with "/" and has no blanks, such as /ping. Correct it in the endpoint's variables.`;
    return { kind: "problem", problem };
  }
  return { kind: "settings", settings: { port, healthPort, healthPath } };
}

/** Why no container can be started of an assignment; undefined when one can. */
export function serverProblem({ type, env }: Pick<Assignment, "type" | "env">): string | undefined {
  const read = type === "LB" ? readServerSettings(env) : undefined;
  return read?.kind === "problem" ? read.problem : undefined;
}

/** Variables that the worker's own programs read. */
export function serverVariables({ port, healthPort, healthPath }: ServerSettings): Record<string, string> {
  return { PORT: String(port), PORT_HEALTH: String(healthPort), HEALTH_CHECK_PATH: healthPath };
}

/** Null for an invalid port. */
function readPort(text: string | undefined, absent: number): number | null {
  const given = text?.trim() ?? "";
  if (given === "") return absent;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 0;
  return port >= 1 && port <= PORT_MAX ? port : null;
}

function badPort(name: string, given = ""): ReadSettings {
  const problem = `${name} is "${shortened(given)}"; it must be a number from 1 to ${PORT_MAX}. Correct it in the endpoint's variables.`;
  return { kind: "problem", problem };
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
