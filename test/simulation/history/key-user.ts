/** Who gives out API keys that may do some things only, tries what they may, and ends them. */
import type { World } from "../world/world.ts";
import type { Answer, SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type KeyUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly endpointIds: readonly string[];
  readonly violate: (what: string) => void;
};

/** A key, and which of the calls below it may make. */
type Kind = { readonly fields: string; readonly may: readonly Call[]; readonly mayNot: readonly Call[] };
type Call = { readonly method: string; readonly path: string; readonly body?: unknown };

const KEYS = 3;
const PAUSE_MS = 1_500;
const LIFETIME_S = 60;
const LIFETIME_MS = LIFETIME_S * 1_000;
/** A change of a key is in force everywhere within this time. */
const STALE_MS = 30_000;
/** Share of the keys that are left until they expire, and of the revoked ones that are used once more later. */
const EXPIRING = 0.2;
const USED_LATER = 0.3;
/** With these, calls of a key may be answered after later ones, or by clocks that differ. */
const COPY_CALLS: readonly Fault[] = ["requestsRepeated", "slowNetwork"];
const MOVE_TIME: readonly Fault[] = ["clockSkew", "clockJumps"];

export class KeyUser {
  readonly #parts: KeyUserParts;
  #isOver = false;

  constructor(parts: KeyUserParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world } = this.#parts;
    client.run(world, async () => {
      for (let left = KEYS; left > 0; left -= 1) {
        await pause(world.random.delay(PAUSE_MS));
        await this.#useOne();
      }
      this.#isOver = true;
    });
  }

  async #useOne(): Promise<void> {
    const { client, world } = this.#parts;
    const { random } = world;
    const kind = random.pick(this.#kinds());
    const input = `{ name: "k", ${kind.fields}, expiresInSeconds: ${LIFETIME_S} }`;
    const begunAt = world.elapsedMs;
    const { createApiKey } = await client.manage(
      `mutation { createApiKey(input: ${input}) { token apiKey { id } } }`,
    );
    const { token = "", apiKey } = createApiKey as unknown as Created;
    const answeredAt = world.elapsedMs;
    const user = client.withKey("client with a key", token);
    for (const call of kind.may) await this.#expectTaken(user, call, begunAt + LIFETIME_MS);
    for (const call of kind.mayNot) await this.#expectRefused(user, call, "insufficient_permission");
    await this.#expectHidden(token);
    if (random.chance(EXPIRING)) return await this.#expectExpiry(user, kind, answeredAt + LIFETIME_MS);
    await client.manage(`mutation { revokeApiKey(id: "${apiKey.id}") }`);
    await this.#expectRevoked(user, kind);
  }

  #kinds(): readonly Kind[] {
    const { endpointIds, world } = this.#parts;
    const own = world.random.pick(endpointIds);
    const others = endpointIds.filter((id) => id !== own);
    return [
      { fields: "level: READ_ONLY", may: [health(own), LIST], mayNot: [submit(own), purge(own), CREATE] },
      {
        fields: `permissions: { endpoints: [{ endpointId: "${own}", access: READ }] }`,
        may: [health(own)],
        mayNot: [LIST, submit(own), ...others.map(health)],
      },
      { fields: "permissions: { graphql: READ }", may: [LIST], mayNot: [health(own), submit(own), CREATE] },
    ];
  }

  async #expectTaken(user: SimulatedClient, call: Call, expiresAt: number): Promise<void> {
    const { world, violate } = this.#parts;
    const answer = await send(user, call);
    if (!answer || world.elapsedMs >= expiresAt || this.#isTimeMoved) return;
    if (answer.status !== 200) violate(`a key that may ${nameOf(call)} is answered ${textOf(answer)}`);
  }

  async #expectRefused(user: SimulatedClient, call: Call, code: string): Promise<void> {
    const answer = await send(user, call);
    if (!answer || (answer.status === 401 && textOf(answer).includes("unauthorized"))) return; // it has expired
    if (answer.status !== 401 || !textOf(answer).includes(`"${code}"`))
      this.#parts.violate(`a key that may not ${nameOf(call)} is answered ${textOf(answer)}`);
  }

  /** No answer shows a key again. */
  async #expectHidden(token: string): Promise<void> {
    const { client, violate } = this.#parts;
    const query =
      "{ myself { apiKeys { id name hint level } auditLog(input: { limit: 50 }) { id operation fields } } }";
    const answer = await client.call("POST", "/graphql", { query });
    if (answer && textOf(answer).includes(token)) violate(`the key ${token} is shown again`);
  }

  /** At once where it was made, as nothing of the key is under way; everywhere within the time above. */
  async #expectRevoked(user: SimulatedClient, { may: [call] }: Kind): Promise<void> {
    const { world, plan } = this.#parts;
    if (!call) return;
    if (!COPY_CALLS.some((fault) => plan.faults.has(fault)))
      await this.#expectEnded(user, call, "was revoked");
    if (!world.random.chance(USED_LATER)) return;
    await pause(STALE_MS);
    await this.#expectEnded(user, call, "was revoked long ago");
  }

  async #expectExpiry(user: SimulatedClient, { may: [call] }: Kind, expiresAt: number): Promise<void> {
    const { world } = this.#parts;
    await pause(Math.max(0, expiresAt - world.elapsedMs) + 1);
    if (call && !this.#isTimeMoved) await this.#expectEnded(user, call, "has expired");
  }

  async #expectEnded(user: SimulatedClient, call: Call, how: string): Promise<void> {
    const answer = await send(user, call);
    if (answer && (answer.status !== 401 || textOf(answer).includes("insufficient_permission")))
      this.#parts.violate(`a key that ${how} may ${nameOf(call)}: ${textOf(answer)}`);
  }

  get #isTimeMoved(): boolean {
    return MOVE_TIME.some((fault) => this.#parts.plan.faults.has(fault));
  }
}

type Created = { readonly token?: string; readonly apiKey: { readonly id: string } };

const LIST: Call = { method: "GET", path: "/v1/endpoints" };
/** With a valid body, so that the key is all that is wrong with it. */
const CREATE: Call = { method: "POST", path: "/v1/templates", body: { name: "by a key", imageName: "i" } };

function health(endpointId: string): Call {
  return { method: "GET", path: `/v2/${endpointId}/health` };
}

function submit(endpointId: string): Call {
  return { method: "POST", path: `/v2/${endpointId}/run`, body: { input: {} } };
}

function purge(endpointId: string): Call {
  return { method: "POST", path: `/v2/${endpointId}/purge-queue` };
}

/** Undefined when what comes says nothing of the key: no answer, an error of the platform, or a limit of calls. */
async function send(user: SimulatedClient, { method, path, body }: Call): Promise<Answer | undefined> {
  const answer = await user.call(method, path, body);
  return answer && answer.status !== 429 && answer.status < 500 ? answer : undefined;
}

function nameOf({ method, path }: Call): string {
  return `${method} ${path}`;
}

function textOf({ status, body }: Answer): string {
  return `${status} ${JSON.stringify(body)}`;
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
