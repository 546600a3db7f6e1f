/** Who gives the secret of an account other values, and lists it. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { type KnownSecret, newValue } from "./secrets.ts";

export type SecretUserParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly secret: KnownSecret;
  readonly violate: (what: string) => void;
};

const CHANGES = 3;
const PAUSE_MS = 8_000;
const AGAIN_MS = 500;
const CALLS_MAX = 40;

export class SecretUser {
  readonly #parts: SecretUserParts;
  #isOver = false;

  constructor(parts: SecretUserParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world } = this.#parts;
    client.run(world, async () => {
      for (let left = CHANGES; left > 0; left -= 1) {
        await pause(world.random.delay(PAUSE_MS));
        await this.#change();
        await this.#list();
      }
      this.#isOver = true;
    });
  }

  /** Repeating it is safe, so it is repeated until it is answered. */
  async #change(): Promise<void> {
    const { world, client, secret } = this.#parts;
    const value = newValue(world);
    const earlier = [...secret.values];
    secret.values.push({ value, replacedAt: null });
    const query = `mutation { secretValueUpdate(input: { id: "${secret.id}", value: "${value}" }) { id } }`;
    for (let calls = CALLS_MAX; calls > 0; calls -= 1) {
      const answer = await client.call("POST", "/graphql", { query });
      if (answer?.status === 200 && !answer.body["errors"]) {
        for (const one of earlier) one.replacedAt ??= world.elapsedMs;
        return;
      }
      await pause(AGAIN_MS);
    }
  }

  async #list(): Promise<void> {
    const { client, secret, violate } = this.#parts;
    const query = "{ myself { secrets { id name } } }";
    const answer = await client.call("POST", "/graphql", { query });
    if (answer?.status !== 200 || answer.body["errors"]) return;
    const { myself } = answer.body["data"] as {
      readonly myself: { readonly secrets: readonly { readonly id: string }[] };
    };
    if (!myself.secrets.some(({ id }) => id === secret.id)) violate(`the secret ${secret.id} is not listed`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
