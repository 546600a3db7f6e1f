/** Speaks to the edge as its users do, over HTTP. */
import { exports } from "cloudflare:workers";
import { freshAccount, type TestAccount } from "./accounts.ts";

export const ROOT_API_KEY = "test-root-key-of-more-than-32-characters";

export type EdgeAnswer = {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
};

export type ServerEvent = { readonly event: string; readonly id?: string; readonly data: unknown };

/** A user of the edge with the key of one account: the root account unless it signs in as another. */
export class EdgeClient {
  #account: Pick<TestAccount, "key"> & Partial<TestAccount>;

  constructor(account: string | TestAccount = { accountId: "default", key: ROOT_API_KEY, keyHash: "" }) {
    this.#account = typeof account === "string" ? { key: account } : account;
  }

  static async ofNewAccount(): Promise<EdgeClient> {
    return new EdgeClient(await freshAccount());
  }

  /** Of the account that it has signed in as last, with more than a key. */
  get accountId(): string {
    const { accountId } = this.#account;
    if (accountId === undefined) throw new Error("The client has a key without an account.");
    return accountId;
  }

  get key(): string {
    return this.#account.key;
  }

  /** From here on all calls are those of a new account: hosts of other tests are not its hosts. */
  readonly signInAsNewAccount = async (): Promise<void> => {
    this.signInAs(await freshAccount());
  };

  readonly signInAs = (account: Pick<TestAccount, "key"> & Partial<TestAccount>): void => {
    this.#account = account;
  };

  readonly call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<EdgeAnswer> => {
    const response = await exports.default.fetch(`http://edge${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.key}`, ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? null : JSON.parse(text),
      headers: response.headers,
    };
  };

  readonly graphql = async <Data>(query: string): Promise<Data> => {
    const reply = await this.call("POST", "/graphql", { query });
    if (reply.body["errors"]) throw new Error(JSON.stringify(reply.body["errors"]));
    return reply.body["data"] as Data;
  };

  /** Creates an endpoint with a template of its own; returns its id. */
  readonly createEndpoint = async (
    settings = "workersMin: 0, workersMax: 3, idleTimeout: 5",
  ): Promise<string> => {
    const name = `test-${crypto.randomUUID()}`;
    const { saveEndpoint } = await this.graphql<{ saveEndpoint: { id: string } }>(
      `mutation { saveEndpoint(input: { name: "${name}", gpuIds: "AMPERE_16", ${settings},
         template: { imageName: "test:1", containerDiskInGb: 5 } }) { id } }`,
    );
    return saveEndpoint.id;
  };

  /** Opens an event stream; `next` answers undefined at its end, `comment` resolves when the next comment came. */
  readonly openEvents = (path: string, lastEventId?: number | string) =>
    openEvents(this.key, path, lastEventId);
}

async function openEvents(key: string, path: string, lastEventId?: number | string) {
  const response = await exports.default.fetch(`http://edge${path}`, {
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: "text/event-stream",
      ...(lastEventId !== undefined && { "Last-Event-ID": String(lastEventId) }),
    },
  });
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  /** What stands before the next empty line. */
  async function block(): Promise<string | undefined> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const found = text.slice(0, end);
        text = text.slice(end + 2);
        return found;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  }
  async function next(): Promise<ServerEvent | undefined> {
    for (;;) {
      const found = await block();
      if (found === undefined) return undefined;
      const event = readEvent(found);
      if (event) return event;
    }
  }
  async function comment(): Promise<void> {
    const found = await block();
    if (!found?.startsWith(":")) throw new Error(`No comment: ${found}`);
  }
  /** The body of a refusal. */
  async function json(): Promise<Record<string, unknown>> {
    const rest: string[] = [];
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      rest.push(decoder.decode(read.value, { stream: true }));
    }
    return JSON.parse(rest.join(""));
  }
  const { status, headers } = response;
  return { status, headers, json, next, comment, [Symbol.asyncDispose]: () => reader.cancel() };
}

function readEvent(block: string): ServerEvent | undefined {
  const fields = new Map(
    block
      .split("\n")
      .filter((line) => !line.startsWith(":"))
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const),
  );
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const id = fields.get("id");
  return { event: fields.get("event") ?? "message", ...(id !== undefined && { id }), data: JSON.parse(data) };
}
