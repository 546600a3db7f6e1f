/** Opens a live session. */
import { LIVE_PREFIX } from "../../../src/contract/flash/flash-live.ts";
import { ignoreFlashDirectory } from "../../build/build-directory.ts";
import type { Cli } from "../../core/cli.ts";
import { inStep } from "../../core/terminal.ts";
import type { Service } from "../../service/service.ts";
import { isSessionNotFound, type OpenedSession } from "../../service/flash-operations.ts";
import { type Owner, thisOwner } from "../../project/process-owner.ts";
import { changeTracked, readTracked } from "../../project/tracked-resources.ts";
import { openSession, renewSession } from "./session-lease.ts";
import type { Leftover } from "./leftovers.ts";
import type { LiveSession } from "./live-session.ts";
import { type Placed, ServiceSession } from "./service-session.ts";
import { SessionTracking } from "./session-tracking.ts";

export type LiveSessionOptions = {
  readonly appName: string;
  /** Sessions whose process has ended; the first one of this app is continued. */
  readonly leftovers?: readonly Leftover[];
  readonly renewedEveryMs?: number;
};

type Start = { readonly opened: OpenedSession; readonly placed: ReadonlyMap<string, Placed> };

/**
 * Opens a session of the app, which is created where it does not exist, or continues one that was left. Throws a Failure
 * where the service rejects the key. The caller closes the session.
 */
export async function openLiveSession(
  cli: Cli,
  service: Service,
  { appName, leftovers = [], renewedEveryMs }: LiveSessionOptions,
): Promise<LiveSession> {
  const owner = thisOwner();
  const ours = leftovers.filter(({ session }) => session.app === appName);
  const lines = { title: `Connecting to ${service.url}`, failed: "No live session was opened" };
  const { opened, placed } = await inStep(cli.terminal, lines, async (step) => {
    const started =
      (await takeOver(cli, service, owner, ours)) ??
      ({ opened: await openSession(service, appName), placed: new Map() } satisfies Start);
    step.done(`Connected to ${service.url}`);
    return started;
  });
  await ignoreFlashDirectory(cli.directory);
  const tracking = new SessionTracking(cli, service, appName, owner);
  await tracking.session(opened);
  const session = new ServiceSession({ cli, service, appName, tracking, opened, placed, renewedEveryMs });
  cli.onForceQuit?.(() => linesOf(session.left()));
  return session;
}

/** Continues the first session that still exists and that no other process has taken. */
async function takeOver(
  cli: Cli,
  service: Service,
  owner: Owner,
  leftovers: readonly Leftover[],
): Promise<Start | undefined> {
  for (const leftover of leftovers) {
    if (!(await claim(cli, owner, leftover))) continue;
    try {
      const opened = await renewSession(service, leftover.session.id);
      return { opened, placed: await placedOf(cli, leftover) };
    } catch (error) {
      if (!isSessionNotFound(error)) throw error;
    }
  }
  return undefined;
}

async function claim(cli: Cli, owner: Owner, { session }: Leftover): Promise<boolean> {
  let isOurs = false;
  await changeTracked(cli.directory, (tracked) => {
    const [key, found] = Object.entries(tracked).find(([, { id }]) => id === session.id) ?? [];
    isOurs = key !== undefined && JSON.stringify(found?.owner) === JSON.stringify(session.owner);
    return isOurs && key !== undefined ? { ...tracked, [key]: { ...session, owner } } : tracked;
  });
  return isOurs;
}

async function placedOf(cli: Cli, { endpoints }: Leftover): Promise<ReadonlyMap<string, Placed>> {
  const tracked = new Map(Object.values(await readTracked(cli.directory)).map((one) => [one.id, one]));
  return new Map(
    endpoints.map(({ id, name, type }) => {
      const configurationHash = tracked.get(id)?.configurationHash ?? "";
      return [name.slice(LIVE_PREFIX.length), { id, type, configurationHash }];
    }),
  );
}

/** Lines for a second Ctrl+C before everything is deleted. */
function linesOf(left: readonly string[]): readonly string[] {
  if (left.length === 0) return [];
  return [
    `Not deleted: ${left.join(", ")}.`,
    "The service deletes them within ten minutes; the next `flash dev` in this project offers to delete them at once.",
  ];
}
