/**
 * The session on the service: an environment that ends unless its lease is renewed.
 *
 * L1  The lease is renewed while the command runs; a failure is reported once and retried.
 * L2  A session that has ended, for example while the computer slept, is replaced. Concurrent callers share the new one.
 */
import { randomBytes } from "node:crypto";
import { LIVE_PREFIX } from "../../../src/contract/flash/flash-live.ts";
import { ensureApp } from "../../deploy/target.ts";
import { ServiceFailure, type Service } from "../../service/service.ts";
import {
  createSession,
  isSessionNotFound,
  type OpenedSession,
  renewLease,
} from "../../service/flash-operations.ts";

/** Endpoints of a computer that was switched off live this long, and until the next maintenance. */
const LEASE_SECONDS = 300;
const RENEWED_EVERY_MS = 60_000;
const RENEWED_AGAIN_MS = 10_000;
/** A connection opened before the computer slept neither answers nor fails. */
const RENEWAL_LIMIT_MS = 20_000;

const NAME_CHARACTERS = 6;
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";
const ATTEMPTS = 3;

export type SessionLeaseSettings = {
  readonly service: Service;
  readonly appName: string;
  /** Called before the new session is returned. */
  readonly onReplaced: (ended: OpenedSession, opened: OpenedSession) => void;
  /** Called with each new reason of failed renewals, and with undefined when one succeeds again. */
  readonly onTrouble: (reason: string | undefined) => void;
  readonly renewedEveryMs?: number | undefined;
};

/** Opens a session in an app, which is created where it does not exist. */
export async function openSession(service: Service, appName: string): Promise<OpenedSession> {
  for (let left = ATTEMPTS - 1; ; left -= 1) {
    const app = await ensureApp(service, appName, { isForSessions: true });
    try {
      const input = { flashAppId: app.id, name: sessionName(), leaseSeconds: LEASE_SECONDS };
      return (await service.mutate(createSession, { input })).createFlashEnvironment;
    } catch (error) {
      // An app that was created for sessions is deleted with the last one, perhaps just now.
      if (left === 0 || !(error instanceof ServiceFailure) || !RETRIED.includes(error.code)) throw error;
    }
  }
}

const RETRIED = ["APP_NOT_FOUND", "FLASH_ENVIRONMENT_NAME_TAKEN"];

/** Renews a session; fails where it has ended. */
export async function renewSession(service: Service, id: string): Promise<OpenedSession> {
  const input = { flashEnvironmentId: id, leaseSeconds: LEASE_SECONDS };
  return (await service.mutate(renewLease, { input })).renewFlashEnvironmentLease;
}

function sessionName(): string {
  const characters = [...randomBytes(NAME_CHARACTERS)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  return `${LIVE_PREFIX}${characters.join("")}`;
}

export class SessionLease {
  readonly #settings: SessionLeaseSettings;
  readonly #stopped = new AbortController();
  #current: OpenedSession;
  #replacement: Promise<OpenedSession> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #trouble: string | undefined;

  constructor(settings: SessionLeaseSettings, opened: OpenedSession) {
    this.#settings = settings;
    this.#current = opened;
    this.#renewIn(this.#interval);
  }

  get current(): OpenedSession {
    return this.#current;
  }

  /** The session that replaces an ended one (L2). */
  async replace(ended: OpenedSession): Promise<OpenedSession> {
    if (ended !== this.#current) return this.#current;
    this.#replacement ??= this.#open(ended).finally(() => {
      this.#replacement = undefined;
    });
    return await this.#replacement;
  }

  /** Stops renewing; waits for a replacement that is being opened. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await this.#replacement?.catch(() => undefined);
  }

  async #open(ended: OpenedSession): Promise<OpenedSession> {
    const { service, appName, onReplaced } = this.#settings;
    const opened = await openSession(service, appName);
    this.#current = opened;
    onReplaced(ended, opened);
    return opened;
  }

  get #interval(): number {
    return this.#settings.renewedEveryMs ?? RENEWED_EVERY_MS;
  }

  #renewIn(delayMs: number): void {
    if (this.#stopped.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#renew(), delayMs).unref();
  }

  async #renew(): Promise<void> {
    const session = this.#current;
    const { service } = this.#settings;
    const limit = AbortSignal.timeout(RENEWAL_LIMIT_MS);
    try {
      await renewSession(
        service.withSignal(AbortSignal.any([limit, this.#stopped.signal])),
        session.id,
      ).catch(async (error: unknown) => {
        if (!isSessionNotFound(error)) throw error;
        await this.replace(session);
      });
      this.#reportTrouble(undefined);
      this.#renewIn(this.#interval);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      const isSilent = limit.aborted || !(error instanceof Error);
      this.#reportTrouble(isSilent ? `The service at ${service.url} does not answer.` : error.message);
      this.#renewIn(Math.min(RENEWED_AGAIN_MS, this.#interval));
    }
  }

  #reportTrouble(reason: string | undefined): void {
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    this.#settings.onTrouble(reason);
  }
}
