/** A client that tries all it can on the things of another account: they are answered as if they never were. */
import {
  type Call,
  type Noun,
  OPERATIONS,
  type Operation,
  type Taken,
} from "../../workers/isolation-operations.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { Answer, SimulatedClient } from "./client.ts";
import type { PodUser } from "./pods.ts";

export type TrespasserParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  /** That other account. */
  readonly account: Account;
  readonly pods: () => readonly PodUser[];
  readonly violate: (what: string) => void;
};

/** Of each noun one thing, where there is one; a job goes with its endpoint. */
type Ids = ReadonlyMap<Noun, string>;

const CALLS = 8;
const PAUSE_MS = 1_500;
const TUNNELS = 0.1;
/** Of errors that GraphQL answers with status 200. */
const SILENT_CODES = /"code":"(INTERNAL|UNAVAILABLE|RATE_LIMITED)"/;
/** By the last noun that they name. */
const BY_NOUN = Map.groupBy(OPERATIONS, ({ takes }) => takes.at(-1)?.noun);
/** They name nothing. */
const LISTS = (BY_NOUN.get(undefined) ?? []).filter(({ call }) => isReading(call([], "")));

export class Trespasser {
  readonly #parts: TrespasserParts;

  constructor(parts: TrespasserParts) {
    this.#parts = parts;
  }

  start(): void {
    const { world, client } = this.#parts;
    client.run(world, async () => {
      for (let left = CALLS; left > 0; left -= 1) {
        await new Promise((resolve) => setTimeout(resolve, world.random.delay(PAUSE_MS)));
        if (world.random.chance(TUNNELS)) await this.#openTunnel();
        else await this.#try();
      }
    });
  }

  /** What is another's is answered like what never was. */
  async #try(): Promise<void> {
    const { random } = this.#parts.world;
    const things = this.#choose();
    const noun = random.pick([...things.keys(), undefined]);
    const { name, takes, removes = false, call } = random.pick(noun ? operationsOn(noun, things) : LISTS);
    const terms = takes.map((taken) => things.get(taken.noun) ?? "");
    const answer = await this.#ask(call(terms, "m"));
    if (!answer || !noun) return;
    if (removes && isFollowed(answer)) this.#wrong(name, "removes what is another's");
    const never = takes.map((taken) => this.#neverWas(taken.noun));
    const expected = await this.#ask(call(never, "m"));
    if (!expected) return;
    const [given, wanted] = [plain(answer, terms), plain(expected, never)];
    if (given !== wanted)
      this.#wrong(name, `answers ${given.slice(0, 300)} instead of ${wanted.slice(0, 300)}`);
  }

  /** Undefined when what comes says nothing: no answer, an error of the platform, or a limit of calls. */
  async #ask(call: Call): Promise<Answer | undefined> {
    const { client } = this.#parts;
    const answer =
      call.kind === "http"
        ? await client.call(call.method, call.path, call.body)
        : await client.call("POST", "/graphql", { query: call.document });
    if (!answer || answer.status === 429 || answer.status >= 500) return undefined;
    return SILENT_CODES.test(textOf(answer)) ? undefined : answer;
  }

  async #openTunnel(): Promise<void> {
    const { world, client, account } = this.#parts;
    const ids = account.hosts.flatMap(({ containers }) => [...containers.all.keys()]);
    if (ids.length === 0) return;
    const workerId = world.random.pick(ids);
    const path = `/tunnels/${workerId}/${world.random.pick(["exec", "tcp/22"])}`;
    const socket = client.socket(`${path}?tunnel=${this.#neverWas("job").replaceAll(/\W|s0$/g, "")}`);
    await new Promise<void>((resolve) => {
      socket.addEventListener("open", () => {
        this.#wrong(path, "opens a tunnel to what is another's");
        socket.close(1000);
      });
      socket.addEventListener("close", () => resolve());
    });
  }

  #choose(): Ids {
    const { world, account, pods } = this.#parts;
    const any = <Value>(values: readonly Value[]): Value | undefined =>
      values.length === 0 ? undefined : world.random.pick(values);
    const job = any(account.clients.flatMap(({ jobs }) => jobs));
    const chosen: readonly (readonly [Noun, string | undefined])[] = [
      ["endpoint", job?.endpointId ?? any(account.allEndpointIds)],
      ["job", job?.jobId],
      ["pod", any(pods().flatMap(({ ids }) => ids))],
      ["host", any(account.hosts)?.hostId],
    ];
    return new Map(chosen.flatMap(([noun, id]) => (id === undefined ? [] : [[noun, id]])));
  }

  #neverWas(noun: Noun): string {
    const bytes = new Uint8Array(16);
    this.#parts.world.random.bytes(bytes);
    const hex = Buffer.from(bytes).toString("hex");
    if (noun !== "job") return hex.slice(0, 14);
    return `${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")}-s0`;
  }

  #wrong(name: string, how: string): void {
    this.#parts.violate(`another account calls ${name}, which ${how}`);
  }
}

/** Those that name a thing of this noun, and others only of which there is one. */
function operationsOn(noun: Noun, things: Ids): readonly Operation[] {
  const known = (taken: Taken): boolean => taken.by === "id" && things.has(taken.noun);
  return (BY_NOUN.get(noun) ?? []).filter(({ takes }) => takes.every(known));
}

function isReading(call: Call): boolean {
  return call.kind === "http" && call.method === "GET";
}

function isFollowed({ status, body }: Answer): boolean {
  return status < 300 && !("errors" in body);
}

function textOf({ body }: Answer): string {
  return JSON.stringify(body);
}

/** An answer but for what its client has sent. */
function plain(answer: Answer, sent: readonly string[]): string {
  return sent.reduce((rest, term) => rest.replaceAll(term, "…"), `${answer.status} ${textOf(answer)}`);
}
