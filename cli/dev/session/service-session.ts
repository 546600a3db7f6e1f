/** A live session on the service. */
import { toSaveInput } from "../../deploy/endpoint-input.ts";
import { LIVE_PREFIX } from "../../../src/contract/flash/flash-live.ts";
import type { Cli } from "../../core/cli.ts";
import { findVolumes } from "../../deploy/volumes.ts";
import { Failure } from "../../../src/std/failure.ts";
import { environmentEndpoints, removeEndpoint, saveEndpoint } from "../../service/endpoint-operations.ts";
import { deleteEnvironment, isSessionNotFound, type OpenedSession } from "../../service/flash-operations.ts";
import type { Service } from "../../service/service.ts";
import { counted } from "../../core/format.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import { SessionLease } from "./session-lease.ts";
import {
  configurationHash,
  toLiveInput,
  type LivePlace,
  type LiveSession,
  type Provisioned,
} from "./live-session.ts";
import type { SessionTracking } from "./session-tracking.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";

const PLACED_AT_ONCE = 3;
/** For placements in progress when the session is closed. */
const SETTLE_LIMIT_MS = 5_000;
const DELETION_LIMIT_MS = 10_000;
/** After this time a message reports that endpoints are being deleted. */
const PATIENCE_MS = 1_000;

/** An endpoint that exists on the service. */
export type Placed = {
  readonly id: string;
  readonly type: "QB" | "LB";
  readonly configurationHash: string;
  /** Its declaration when it was placed; unknown where another process placed it. */
  readonly endpoint?: LiveEndpoint | undefined;
};

export type ServiceSessionSettings = {
  readonly cli: Cli;
  readonly service: Service;
  readonly appName: string;
  readonly tracking: SessionTracking;
  readonly opened: OpenedSession;
  /** Existing endpoints of the session, by the names in the app. */
  readonly placed: ReadonlyMap<string, Placed>;
  readonly renewedEveryMs?: number | undefined;
};

type Placing = { readonly place: LivePlace; readonly outcome: Provisioned["outcome"] };

export class ServiceSession implements LiveSession {
  readonly #cli: Cli;
  readonly #service: Service;
  readonly #tracking: SessionTracking;
  readonly #lease: SessionLease;
  readonly #placed: Map<string, Placed>;
  readonly #queue = new KeyedMutex();
  /** Volumes are resolved one by one, since two endpoints may name the same new one. */
  readonly #volumeQueue = new KeyedMutex();
  /** Aborts calls of the service at the end of the session, not on Ctrl+C. */
  readonly #ended = new AbortController();
  #closing: ReturnType<LiveSession["close"]> | undefined;

  constructor(settings: ServiceSessionSettings) {
    const { cli, service, appName, tracking, opened, placed, renewedEveryMs } = settings;
    this.#cli = cli;
    this.#service = service.withSignal(this.#ended.signal);
    this.#tracking = tracking;
    this.#placed = new Map(placed);
    this.#lease = new SessionLease(
      {
        service: this.#service,
        appName,
        renewedEveryMs,
        onReplaced: (before, after) => this.#recreate(before, after),
        onTrouble: (reason) => this.#reportTrouble(reason),
      },
      opened,
    );
  }

  async place(endpoint: LiveEndpoint): Promise<LivePlace> {
    return (await this.#placing(endpoint)).place;
  }

  async placeAll(
    endpoints: readonly LiveEndpoint[],
    onEach: (one: Provisioned) => void,
  ): Promise<readonly Provisioned[]> {
    const results: Provisioned[] = [];
    const queue = endpoints.entries();
    const placeNext = async (): Promise<void> => {
      for (const [index, endpoint] of queue) {
        const one = await this.#provisioned(endpoint);
        results[index] = one;
        onEach(one);
      }
    };
    await Promise.all(Array.from({ length: PLACED_AT_ONCE }, placeNext));
    return results;
  }

  lacking(endpoints: readonly LiveEndpoint[]): readonly LiveEndpoint[] {
    return endpoints.filter((endpoint) => !this.#found(endpoint.name, configurationHash(endpoint)));
  }

  forget(name: string): void {
    this.#placed.delete(name);
  }

  async keepOnly(names: readonly string[]): Promise<void> {
    const candidates = new Set([...this.#placed.keys(), ...this.#queue.keys()]);
    const removed = [...candidates].filter((name) => !names.includes(name));
    await Promise.all(removed.map((name) => this.#queue.run(name, async () => await this.#remove(name))));
  }

  async close(): ReturnType<LiveSession["close"]> {
    this.#closing ??= this.#close();
    return await this.#closing;
  }

  left(): readonly string[] {
    const underWay = this.#queue.keys().filter((name) => !this.#placed.has(name));
    return [
      ...[...this.#placed].map(([name, { id }]) => `${LIVE_PREFIX}${name} (${id})`),
      ...underWay.map((name) => `${LIVE_PREFIX}${name}`),
    ];
  }

  async #placing(endpoint: LiveEndpoint): Promise<Placing> {
    this.#cli.signal.throwIfAborted();
    if (this.#closing) throw new Failure("The live session has ended.");
    const { name } = endpoint;
    const hash = configurationHash(endpoint);
    const existing = this.#found(name, hash);
    return existing ?? (await this.#queue.run(name, async () => await this.#placeNow(endpoint, hash)));
  }

  #found(name: string, hash: string): Placing | undefined {
    const existing = this.#placed.get(name);
    if (existing?.configurationHash !== hash) return undefined;
    return { place: this.#placeOf(existing, this.#lease.current), outcome: "cached" };
  }

  #placeOf({ id }: Placed, { liveToken }: OpenedSession): LivePlace {
    return { endpointId: id, liveToken };
  }

  /** Another call may have placed the endpoint in the meantime. */
  async #placeNow(endpoint: LiveEndpoint, hash: string): Promise<Placing> {
    const { name } = endpoint;
    const existing = this.#found(name, hash);
    if (existing) return existing;
    const outcome = this.#placed.has(name) ? "updated" : "deployed";
    const session = this.#lease.current;
    try {
      return await this.#save(session, endpoint, hash)
        .catch(async (error: unknown) => {
          if (!isSessionNotFound(error)) throw error;
          return await this.#save(await this.#lease.replace(session), endpoint, hash);
        })
        .then((place) => ({ place, outcome }));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure(`Live endpoint '${name}' could not be created: ${error.message}`, error.advice);
    }
  }

  async #save(session: OpenedSession, endpoint: LiveEndpoint, hash: string): Promise<LivePlace> {
    const { name } = endpoint;
    const input = toLiveInput(endpoint, await this.#volumesOf(endpoint));
    const before = this.#placed.get(name);
    if (before && before.type !== input.type) await this.#remove(name);
    const { saveEndpoint: saved } = await this.#service.mutateIdempotent(saveEndpoint, {
      input: { ...toSaveInput(input), flashEnvironmentId: session.id },
    });
    // The session was replaced meanwhile, and this endpoint was deleted with it.
    if (session !== this.#lease.current) return await this.#save(this.#lease.current, endpoint, hash);
    const placed = { id: saved.id, type: input.type, configurationHash: hash, endpoint };
    this.#placed.set(name, placed);
    const { endpoint: _, ...facts } = placed;
    await this.#tracking.endpoint(session, { ...facts, name: input.name });
    return this.#placeOf(placed, session);
  }

  async #volumesOf({ name, resource }: LiveEndpoint): Promise<readonly string[]> {
    const find = () => findVolumes(this.#service, { resources: { [name]: resource } });
    return (await this.#volumeQueue.run("volumes", find)).get(name) ?? [];
  }

  async #provisioned(endpoint: LiveEndpoint): Promise<Provisioned> {
    const { name } = endpoint;
    try {
      return { name, outcome: (await this.#placing(endpoint)).outcome };
    } catch (error) {
      this.#cli.signal.throwIfAborted();
      if (!(error instanceof Failure)) throw error;
      return { name, outcome: "failed", error: error.message };
    }
  }

  /** An endpoint that cannot be deleted stays tracked, and is deleted at the end of the session. */
  async #remove(name: string): Promise<void> {
    const existing = this.#placed.get(name);
    if (existing === undefined) return;
    try {
      await removeEndpoint(this.#service, existing.id);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return this.#cli.terminal.warn(
        `${LIVE_PREFIX}${name} (${existing.id}) could not be deleted: ${error.message}`,
      );
    }
    this.#placed.delete(name);
    await this.#tracking.gone([existing.id]);
  }

  /** Places the endpoints of an ended session again, so that the next calls need not wait. */
  #recreate(before: OpenedSession, after: OpenedSession): void {
    const endpoints = [...this.#placed.values()].flatMap(({ endpoint }) => endpoint ?? []);
    this.#placed.clear();
    const what = endpoints.length > 0 ? ` ${counted(endpoints.length, "live endpoint")} created again.` : "";
    this.#cli.terminal.warn(
      `The live session had ended on the service, as happens when this computer sleeps for long.${what}`,
    );
    void this.#retrack(before, after);
    // The next call of each endpoint reports its failure.
    void this.placeAll(endpoints, () => undefined).catch(() => undefined);
  }

  async #retrack(before: OpenedSession, after: OpenedSession): Promise<void> {
    await this.#tracking.gone([before.id]);
    await this.#tracking.session(after);
  }

  #reportTrouble(reason: string | undefined): void {
    const { terminal } = this.#cli;
    if (reason === undefined) return terminal.done("The live session is renewed again.");
    terminal.warn(`The live session could not be renewed: ${reason} Retrying.`);
  }

  async #close(): ReturnType<LiveSession["close"]> {
    const patience = setTimeout(() => {
      this.#cli.terminal.say("Deleting live endpoints. Press Ctrl+C again to leave that to the service.");
    }, PATIENCE_MS);
    try {
      await this.#settle();
      return await this.#delete();
    } finally {
      clearTimeout(patience);
    }
  }

  /** Waits for placements in progress; none starts afterwards. */
  async #settle(): Promise<void> {
    const limit = setTimeout(() => this.#end(), SETTLE_LIMIT_MS);
    await this.#lease.stop();
    await this.#queue.allSettled();
    clearTimeout(limit);
    this.#end();
  }

  async #delete(): ReturnType<LiveSession["close"]> {
    const { id } = this.#lease.current;
    const tidying = this.#service.withSignal(AbortSignal.timeout(DELETION_LIMIT_MS));
    try {
      await tidying.mutateIdempotent(deleteEnvironment, { id });
    } catch (error) {
      if (!isSessionNotFound(error)) return await this.#survivors(tidying, id);
    }
    const deleted = this.#placed.size;
    this.#placed.clear();
    await this.#tracking.gone([id]);
    return { deleted, left: [] };
  }

  #end(): void {
    this.#ended.abort(new Failure("The live session has ended."));
  }

  async #survivors(service: Service, id: string): ReturnType<LiveSession["close"]> {
    const before = this.#placed.size;
    try {
      const { flashEnvironment } = await service.query(environmentEndpoints, { id });
      const present = new Set((flashEnvironment?.endpoints ?? []).map((endpoint) => endpoint.id));
      for (const [name, placed] of this.#placed) if (!present.has(placed.id)) this.#placed.delete(name);
    } catch {
      // All of them may still exist.
    }
    return { deleted: before - this.#placed.size, left: this.left() };
  }
}
