/** A client of the public API, which remembers what it was told. */
import { ClientSocket } from "../runtime/client-socket.ts";
import { EDGE_URL } from "../runtime/edge.ts";
import type { JobCall } from "./linearizability.ts";
import { Machine, type World } from "../world/world.ts";

export type Answer = {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** How many calls of its kind count at present; absent where the answer does not say. */
  readonly used: number | undefined;
  /** Its body is no JSON: nobody hears of it. */
  readonly isUnreadable?: boolean;
};

/** A call that was answered: its method and path, and both bodies as they went. */
export type AnsweredCall = { readonly what: string; readonly sent: string | null; readonly received: string };

/** What a client knows of a job that the edge has accepted. */
export type KnownJob = {
  readonly endpointId: string;
  readonly jobId: string;
  readonly input: unknown;
  readonly hook: string | null;
  /** When it was first sent, true time in ms of the history. */
  readonly submittedAt: number;
  /** Nobody can read it from then on, true time in ms of the history; null without a ttl of its own. */
  readonly expiresAt: number | null;
  /** What clients have asked and heard about it. */
  readonly calls: JobCall[];
  /** Statuses that were read, in the order of the reads. */
  readonly read: string[];
  output: unknown;
  isCancelRequested: boolean;
  /** The chunks of its stream, which are read once. */
  isStreamRead: boolean;
  isRetryRequested: boolean;
};

const NO_CONTENT = 204;

export class SimulatedClient {
  readonly machine: Machine;
  readonly jobs: KnownJob[] = [];
  readonly #key: string;
  readonly #onAnswer: (call: AnsweredCall, answer: Answer) => void;

  constructor(name: string, key: string, onAnswer: (call: AnsweredCall, answer: Answer) => void) {
    this.machine = new Machine(name);
    this.#key = key;
    this.#onAnswer = onAnswer;
  }

  /** Another one, who has this key of the same account. */
  withKey(name: string, key: string): SimulatedClient {
    return new SimulatedClient(name, key, this.#onAnswer);
  }

  /** Undefined when no answer came. */
  async call(method: string, path: string, body?: unknown, headers = {}): Promise<Answer | undefined> {
    const authorization = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(120_000);
    try {
      const sent = body === undefined ? null : JSON.stringify(body);
      const request = { method, body: sent, headers: { ...authorization, ...headers }, signal };
      const response = await fetch(`${EDGE_URL}${path}`, request);
      const { status, headers: told } = response;
      const received = await response.text();
      const read = status === NO_CONTENT ? {} : parsed(received);
      const answer = { status, body: read ?? {}, used: usedOf(told), isUnreadable: read === undefined };
      this.#onAnswer({ what: `${method} ${path}`, sent, received }, answer);
      return read && answer;
    } catch {
      return undefined;
    }
  }

  /** The answer as it comes; throws when none does. */
  open(path: string, init: RequestInit): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, ...(init.headers as Record<string, string>) };
    return fetch(`${EDGE_URL}${path}`, { ...init, headers });
  }

  socket(path: string, headers: Record<string, string> = {}): ClientSocket {
    const authorization = `Bearer ${this.#key}`;
    return new ClientSocket(`${EDGE_URL}${path}`, { headers: { authorization, ...headers } });
  }

  /** A management operation; tries until it is answered. */
  async manage(query: string): Promise<Record<string, Record<string, string>>> {
    for (;;) {
      const answer = await this.call("POST", "/graphql", { query });
      const data = answer?.body["data"];
      if (answer?.status === 200 && data && !answer.body["errors"]) return data as never;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  run(world: World, act: () => Promise<void>): void {
    world.on(this.machine, () => {
      act().catch((error: unknown) => world.uncaught.push(error));
    });
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** From the limit and what remains of it. */
function usedOf(headers: Headers): number | undefined {
  const [, limit] = /q=(\d+)/.exec(headers.get("RateLimit-Policy") ?? "") ?? [];
  const [, left] = /r=(\d+)/.exec(headers.get("RateLimit") ?? "") ?? [];
  return limit === undefined || left === undefined ? undefined : Number(limit) - Number(left);
}
