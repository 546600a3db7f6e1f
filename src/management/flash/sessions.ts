/** Sessions: flash environments that end when their lease is not renewed. */
import { ANONYMOUS } from "../../auth/principal.ts";
import { deleteFlashAppIfEmpty, findFlashApp } from "../../db/flash/apps.ts";
import {
  closeIfLapsed,
  listLapsedSessions,
  renewLeaseIfActive,
  type FlashEnvironmentRecord,
} from "../../db/flash/environments.ts";
import { logFailure } from "../failure-log.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import { removeEnvironment } from "./environment-removal.ts";
import type { LeaseRenewal } from "./flash-input.ts";
import { leaseLapsed, requireOpenEnvironment } from "./open-environment.ts";

/** Sessions whose lease has lapsed which one maintenance run ends at most. */
const LIVE_SESSIONS_ENDED_AT_ONCE = 20;

/** The operation in the audit log when no caller requested it. */
const LEASE_END = "end of a lease";

/** When a lease of so many seconds ends. */
export function leaseEnd(seconds: number, now: number): number {
  return now + seconds * 1_000;
}

/** Extends a session: from now on it lasts as long as the caller requests. */
export async function renewLease(
  context: RequestContext,
  { flashEnvironmentId, leaseSeconds }: LeaseRenewal,
): Promise<FlashEnvironmentRecord> {
  const { db, now } = context;
  const environment = await requireOpenEnvironment(context, flashEnvironmentId);
  if (environment.leaseExpiresAt === null) throw hasNoLease(environment);
  const author = authorOf(context);
  const renewed = await renewLeaseIfActive(db, author, environment.id, leaseEnd(leaseSeconds, now));
  if (renewed === undefined) throw leaseLapsed(environment.id);
  return renewed;
}

/** Deletes a session with its endpoints, and its app with the last one if that was made for sessions. */
export async function removeSession(
  context: RequestContext,
  environment: FlashEnvironmentRecord,
): Promise<void> {
  await removeEnvironment(context, environment);
  const app = await findFlashApp(context.db, environment.accountId, environment.appId);
  if (app?.isForSessions) await deleteFlashAppIfEmpty(context.db, authorOf(context), app);
}

/** Ends sessions of all accounts whose lease was not renewed; returns how many. One that cannot be ended is tried again. */
export async function endLapsedSessions(place: Pick<RequestContext, "env" | "db" | "now">): Promise<number> {
  const { db, now } = place;
  let ended = 0;
  for (const session of await listLapsedSessions(db, now, LIVE_SESSIONS_ENDED_AT_ONCE)) {
    if (!(await closeIfLapsed(db, session.id, now))) continue;
    await removeSession({ ...place, ...systemContext(session.accountId) }, session).then(
      () => (ended += 1),
      (cause: unknown) => logFailure("session_not_ended", { flashEnvironmentId: session.id }, cause),
    );
  }
  return ended;
}

function systemContext(
  accountId: string,
): Pick<RequestContext, "principal" | "operation" | "origin" | "warnings"> {
  return { principal: { ...ANONYMOUS, accountId }, operation: LEASE_END, origin: "", warnings: [] };
}

function hasNoLease({ name }: FlashEnvironmentRecord): ServiceError {
  return new ServiceError(
    "invalid_input",
    `flashEnvironmentId: environment '${name}' lasts and has no lease that could be renewed`,
  );
}
