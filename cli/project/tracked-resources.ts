/**
 * `.flash/resources.pkl`: temporary resources of this project on the service, by "Type:name". Several commands may run
 * at once, so every change reads and writes the file under a lock.
 */
import { errorMessage } from "../../src/std/errors.ts";
import { join } from "node:path";
import { lock } from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { ensureFlashDirectory, FLASH_DIRECTORY } from "./project.ts";
import { Failure } from "../../src/std/failure.ts";
import { readIfThere } from "../core/files.ts";
import { type Plain, readPickle, writePickle } from "./pickle.ts";

const string = z.string();

const trackedResourceSchema = z.looseObject({
  id: string,
  name: string,
  /** Present for a live endpoint: SHA-256 of its configuration. */
  configurationHash: string.optional(),
  /** Present for a live endpoint: id of the environment that is its session. */
  session: string.optional(),
  /** Present for a session: its app, the URL of its service, and the process that renews it. */
  app: string.optional(),
  service: string.optional(),
  owner: z.object({ host: string, pid: z.number().int(), startedAt: string }).optional(),
});
export type TrackedResource = z.infer<typeof trackedResourceSchema>;

const trackedSchema = z.record(z.string(), trackedResourceSchema);
export type Tracked = Readonly<Record<string, TrackedResource>>;

/** Prefix of the keys of sessions; all others are of endpoints. */
export const SESSION_TYPE = "Session";

/** A lock that was not refreshed for `stale` ms belongs to a dead process; waiters wait longer than that. */
const LOCK = {
  realpath: false,
  stale: 5_000,
  // After a sleep of the computer another command may have taken the lock; writes are atomic anyway.
  onCompromised: () => undefined,
  retries: { retries: 40, factor: 1.5, minTimeout: 10, maxTimeout: 300, randomize: true },
};

/** Empty when the file does not exist. Throws a Failure for a file that holds anything but plain values. */
export async function readTracked(directory: string): Promise<Tracked> {
  const path = pathIn(directory);
  const bytes = await readIfThere(path);
  if (bytes === undefined) return {};
  try {
    return trackedSchema.parse(readPickle(bytes));
  } catch (error) {
    const reason = error instanceof z.ZodError ? "it holds no endpoints" : errorMessage(error);
    throw new Failure(`${path} cannot be read: ${reason}.`, [
      "Delete it: it is a cache, which the next command creates again.",
    ]);
  }
}

/** Applies `change` under the lock. */
export async function changeTracked(directory: string, change: (tracked: Tracked) => Tracked): Promise<void> {
  const path = pathIn(directory);
  await ensureFlashDirectory(directory);
  const unlock = await lock(path, LOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOCKED") throw error;
    throw new Failure(`${path} is locked by another command.`, [
      `If none runs in this project, remove ${path}.lock.`,
    ]);
  });
  try {
    await writeFileAtomic(path, writePickle(change(await readTracked(directory)) as Plain));
  } finally {
    await unlock().catch(() => undefined);
  }
}

/** Removes the resources with these ids and the endpoints of sessions with these ids, where some are tracked. */
export async function forgetTracked(directory: string, gone: Iterable<string>): Promise<void> {
  const ids = new Set(gone);
  const tracked = await readTracked(directory);
  const isAny = Object.values(tracked).some(({ id, session = "" }) => ids.has(id) || ids.has(session));
  if (isAny) await changeTracked(directory, (now) => withoutIds(now, ids));
}

/** Without the sessions of other services and their endpoints. */
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

/** Without the resources with these ids and the endpoints of sessions with these ids. */
export function withoutIds(tracked: Tracked, ids: ReadonlySet<string>): Tracked {
  return Object.fromEntries(
    Object.entries(tracked).filter(
      ([, { id, session }]) => !ids.has(id) && !(session !== undefined && ids.has(session)),
    ),
  );
}

/** With an endpoint of a session; an endpoint of the same name in another session stays. */
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
