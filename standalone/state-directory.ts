/**
 * The state directory: all data of an Edgerun on one computer.
 *
 *   api-key          the generated root key, readable by its owner only
 *   encryption-keys  the keys that secrets are encrypted with, the same; a new one may be added in front
 *   running.json     the processes that use the directory; also for programs that look for them
 *   edge/            D1, Durable Objects and R2 on disk
 *   edge-bundle/     the built Worker script, of `npm start`
 *   agent/           state of the agent
 *   edge.log, agent.log
 */
import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeUsable } from "./usable-directory.ts";
import { identify, isRunning, type ProcessIdentity } from "./process-identity.ts";

/** Payloads, logs and secrets are in files that workerd creates readable for all users. */
const OWNER_ONLY = 0o700;
const CLEAN_UP_WAIT_MS = 30_000;
const CLEAN_UP_POLL_MS = 100;

/** Content of running.json. */
export type RunningRecord = {
  readonly url: string;
  readonly script: ProcessIdentity;
  /** Outlives a killed script until nothing is left of it. */
  readonly guard: ProcessIdentity | null;
  readonly edgePid: number | null;
  readonly agentPid: number | null;
  readonly endpointId: string | null;
};

/** Another process works on the state directory. */
export class StateInUse extends Error {
  override readonly name = "StateInUse";
  readonly url: string;
  readonly pid: number;

  constructor({ url, script }: RunningRecord) {
    super(`process ${script.pid} uses the state directory`);
    this.url = url;
    this.pid = script.pid;
  }
}

export class StateDirectory {
  readonly #path: string;
  #record: RunningRecord | undefined;

  /** Throws a Failure where the directory cannot be used. */
  constructor(path: string) {
    this.#path = path;
    makeUsable(path);
    chmodSync(path, OWNER_ONLY); // an existing directory keeps its mode
  }

  get path(): string {
    return this.#path;
  }

  file(name: string): string {
    return join(this.#path, name);
  }

  /** The root key of this installation; generated on the first call ever. */
  apiKey(): string {
    return this.#madeOnce("api-key", () => `er_${randomBytes(20).toString("hex")}`);
  }

  /** The encryption keys in the form of ENCRYPTION_KEYS; generated on the first call ever. */
  encryptionKeys(): string {
    return this.#madeOnce("encryption-keys", generateEncryptionKey);
  }

  #madeOnce(name: string, make: () => string): string {
    const path = this.file(name);
    try {
      writeFileSync(path, `${make()}\n`, { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    return readFileSync(path, "utf8").trim();
  }

  /**
   * Takes the directory for this process; waits while an earlier, killed start is being cleaned up. Throws StateInUse.
   */
  async claim(url: string): Promise<void> {
    const script = identify(process.pid);
    if (!script) throw new Error("this process is not in the process table");
    const earlier = this.#readRecord();
    if (earlier && isRunning(earlier.script)) throw new StateInUse(earlier);
    if (earlier?.guard) await this.#waitForCleanUp(earlier.guard);
    this.#write({ url, script, guard: null, edgePid: null, agentPid: null, endpointId: null });
  }

  /** Throws StateInUse where another process has claimed the directory at the very same moment. */
  update(change: Partial<RunningRecord>): void {
    if (!this.#record) throw new Error("the state directory is not claimed");
    const stored = this.#readRecord();
    if (stored && stored.script.pid !== process.pid && isRunning(stored.script)) throw new StateInUse(stored);
    this.#write({ ...this.#record, ...change });
  }

  async #waitForCleanUp(guard: ProcessIdentity): Promise<void> {
    const giveUpAt = Date.now() + CLEAN_UP_WAIT_MS;
    while (isRunning(guard) && Date.now() < giveUpAt) await delay(CLEAN_UP_POLL_MS);
  }

  #readRecord(): RunningRecord | undefined {
    try {
      return JSON.parse(readFileSync(this.file("running.json"), "utf8")) as RunningRecord;
    } catch {
      return undefined; // none yet, or cut off by a power failure: nothing runs either way
    }
  }

  #write(record: RunningRecord): void {
    this.#record = record;
    writeFileSync(this.file("running.json.new"), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    renameSync(this.file("running.json.new"), this.file("running.json"));
  }
}

/** Generates a key for ENCRYPTION_KEYS, with an id that no other key has. */
export function generateEncryptionKey(): string {
  return `k${randomBytes(4).toString("hex")}:${randomBytes(32).toString("base64")}`;
}
