/**
 * `.flash/resources.pkl`: what this project's commands have on the service for a while, by "Type:name". Several
 * commands may run at once, so that every change is made under a lock, to what the file says then.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { lock } from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { ensureFlashDirectory, FLASH_DIRECTORY } from "./project.ts";
import { Failure } from "../core/failure.ts";
import { type Plain, readPickle, writePickle } from "./pickle.ts";

const string = z.string();

const trackedResourceSchema = z.looseObject({
  id: string,
  name: string,
  /** Of a live endpoint: SHA-256 of what the person has configured. */
  configurationHash: string.optional(),
  /** Of a live endpoint: id of the environment that is its session. */
  session: string.optional(),
  /** Of a session: the app that it is of, the service that has it, and the process that renews it. */
  app: string.optional(),
  service: string.optional(),
  owner: z.object({ host: string, pid: z.number().int(), startedAt: string }).optional(),
});
export type TrackedResource = z.infer<typeof trackedResourceSchema>;

const trackedSchema = z.record(z.string(), trackedResourceSchema);
export type Tracked = Readonly<Record<string, TrackedResource>>;

/** What keys of sessions begin with; all others are of endpoints. */
export const SESSION_TYPE = "Session";

/** A lock that was not touched for `stale` milliseconds is that of a dead process; who waits does so for longer. */
const LOCK = {
  realpath: false,
  stale: 5_000,
  // Of a computer that slept: another command may have gone on, and what was written stays whole.
  onCompromised: () => undefined,
  retries: { retries: 40, factor: 1.5, minTimeout: 10, maxTimeout: 300, randomize: true },
};

/** Empty where nothing is tracked. Throws a Failure for a file that holds anything but plain values. */
export async function readTracked(directory: string): Promise<Tracked> {
  const path = pathIn(directory);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (bytes === undefined) return {};
  try {
    return trackedSchema.parse(readPickle(bytes));
  } catch (error) {
    const reason = error instanceof z.ZodError ? "it holds no endpoints" : (error as Error).message;
    throw new Failure(`${path} is not read: ${reason}.`, [
      "It is a cache, made anew by the next command: delete it.",
    ]);
  }
}

/** Writes what `change` makes of it, while nobody else writes. */
export async function changeTracked(directory: string, change: (tracked: Tracked) => Tracked): Promise<void> {
  const path = pathIn(directory);
  await ensureFlashDirectory(directory);
  const unlock = await lock(path, LOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOCKED") throw error;
    throw new Failure(`${path} is kept locked by another command.`, [
      `If none runs in this project, remove ${path}.lock.`,
    ]);
  });
  try {
    await writeFileAtomic(path, writePickle(change(await readTracked(directory)) as Plain));
  } finally {
    await unlock().catch(() => undefined);
  }
}

/** Without sessions of other services, and their endpoints. */
export function ofService(tracked: Tracked, url: string): Tracked {
  const elsewhere = trackedSessions(tracked).filter(({ service }) => service !== url);
  return withoutIds(tracked, new Set(elsewhere.map(({ id }) => id)));
}

/** The endpoints among them. */
export function trackedEndpoints(tracked: Tracked): readonly TrackedResource[] {
  return Object.entries(tracked).flatMap(([key, resource]) => (isOfSession(key) ? [] : [resource]));
}

/** The sessions among them. */
export function trackedSessions(tracked: Tracked): readonly TrackedResource[] {
  return Object.entries(tracked).flatMap(([key, resource]) => (isOfSession(key) ? [resource] : []));
}

/** All but those with one of these ids, and but the endpoints of a session with one. */
export function withoutIds(tracked: Tracked, ids: ReadonlySet<string>): Tracked {
  return Object.fromEntries(
    Object.entries(tracked).filter(
      ([, { id, session }]) => !ids.has(id) && !(session !== undefined && ids.has(session)),
    ),
  );
}

/** With an endpoint of a session in it; one of the same name in another session keeps its place. */
export function withLiveEndpoint(
  tracked: Tracked,
  type: "QB" | "LB",
  endpoint: TrackedResource & { readonly session: string },
): Tracked {
  const isOurs = ({ session, name }: TrackedResource): boolean =>
    session === endpoint.session && name === endpoint.name;
  const others = Object.fromEntries(Object.entries(tracked).filter(([, resource]) => !isOurs(resource)));
  const key = `${type}:${endpoint.name}`;
  return { ...others, [key in others ? `${key}@${endpoint.session}` : key]: endpoint };
}

function isOfSession(key: string): boolean {
  return key.startsWith(`${SESSION_TYPE}:`);
}

function pathIn(directory: string): string {
  return join(directory, FLASH_DIRECTORY, "resources.pkl");
}
