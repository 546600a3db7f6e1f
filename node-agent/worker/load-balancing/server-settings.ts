/** Where the server of a worker listens and is asked for its health, as the variables of its endpoint say. */
import * as z from "zod";

export const serverSettingsSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  healthPort: z.number().int().min(1).max(65_535),
  healthPath: z.string().startsWith("/"),
});
export type ServerSettings = z.infer<typeof serverSettingsSchema>;

const PORT_DEFAULT = 80;
const PATH_DEFAULT = "/ping";
const PATH_MAX_LENGTH = 2_000;
const PORT_MAX = 65_535;
/** What may stand in a request line: no blanks, no control characters, nothing beyond ASCII, no fragment. */
const PATH = /^\/[!-"$-~]*$/;

export type ReadSettings =
  | { readonly kind: "settings"; readonly settings: ServerSettings }
  /** One sentence that names the variable. */
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

/** What the worker's own programs read. */
export function serverVariables({ port, healthPort, healthPath }: ServerSettings): Record<string, string> {
  return { PORT: String(port), PORT_HEALTH: String(healthPort), HEALTH_CHECK_PATH: healthPath };
}

/** Null for what is no port. */
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
