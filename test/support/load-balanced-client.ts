/** A client of a load-balanced endpoint: requests byte by byte as they are, and WebSockets. */
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Readable } from "node:stream";
import { Agent, request, type Dispatcher } from "undici";
import { WebSocket } from "ws";

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };

export type LoadBalancedRequest = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable | null;
  readonly signal?: AbortSignal;
};
export type LoadBalancedAnswer = Dispatcher.ResponseData;

export class LoadBalancedClient implements AsyncDisposable {
  readonly #target: Target;
  /** Nothing is decoded, followed or sent again; as many connections as there are requests. */
  readonly #agent = new Agent({ pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });

  constructor(target: Target) {
    this.#target = target;
  }

  /** The endpoint's own host. */
  get host(): string {
    return `${this.#target.endpointId}.lb.localhost:${new URL(this.#target.baseUrl).port}`;
  }

  /** By the path that begins with /lb. */
  async send(path: string, options: LoadBalancedRequest = {}): Promise<LoadBalancedAnswer> {
    return this.#send(`/lb/${this.#target.endpointId}${path}`, options);
  }

  /** By the endpoint's own host. */
  async sendToHost(path: string, options: LoadBalancedRequest = {}): Promise<LoadBalancedAnswer> {
    return this.#send(path, { ...options, headers: { ...options.headers, host: this.host } });
  }

  /** The body of an answer that is JSON; throws when it is none of 200. */
  async json<Body>(path: string, options: LoadBalancedRequest = {}): Promise<Body> {
    const answer = await this.send(path, options);
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text}`);
    return JSON.parse(text) as Body;
  }

  /** What the app has noted of a case, once it has noted the word. */
  async told(name: string, word: string): Promise<readonly string[]> {
    return this.json(`/case/${name}/told/${word}`);
  }

  /** Sends the head of a request and the given part of its body; the caller can reset the connection. */
  begin(path: string, { method = "GET", headers = {}, body }: BegunOptions = {}): BegunRequest {
    const { endpointId, apiKey, baseUrl } = this.#target;
    const sent = httpRequest(`${baseUrl}/lb/${endpointId}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
      agent: false,
    });
    sent.on("error", () => {}); // of the reset
    const answer = once(sent, "response").then(([message]) => message as IncomingMessage);
    answer.catch(() => {});
    if (body) sent.write(body);
    else sent.end();
    return {
      answer,
      reset: () => void sent.socket?.resetAndDestroy(),
      leave: () => void sent.destroy(),
    };
  }

  /** Resolves when it is open. */
  async open(path: string, options: { readonly isByHost?: boolean } = {}): Promise<OpenSocket> {
    const { port } = new URL(this.#target.baseUrl);
    const { endpointId, apiKey } = this.#target;
    const address = `ws://127.0.0.1:${port}${options.isByHost ? path : `/lb/${endpointId}${path}`}`;
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(options.isByHost && { host: this.host }),
    };
    const socket = new WebSocket(address, { headers });
    await once(socket, "open");
    return new OpenSocket(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(
    path: string,
    { method = "GET", headers = {}, ...rest }: LoadBalancedRequest,
  ): Promise<LoadBalancedAnswer> {
    return request(this.#target.baseUrl + path, {
      dispatcher: this.#agent,
      method: method as Dispatcher.HttpMethod,
      headers: { authorization: `Bearer ${this.#target.apiKey}`, ...headers },
      ...rest,
    });
  }
}

type BegunOptions = {
  readonly method?: string;
  /** As they are, `connection` too. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
};

export type BegunRequest = {
  readonly answer: Promise<IncomingMessage>;
  /** What a client does that is killed. */
  readonly reset: () => void;
  /** What most do: the connection is closed in order. */
  readonly leave: () => void;
};

type Message = { readonly data: Buffer; readonly isBinary: boolean };

export class OpenSocket {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #messages: Message[] = [];
  readonly #waiting: ((message: Message) => void)[] = [];

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("error", () => {}); // `closed` tells of it
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
    socket.on("message", (data: Buffer, isBinary) => {
      const message = { data, isBinary };
      const waiter = this.#waiting.shift();
      if (waiter) waiter(message);
      else this.#messages.push(message);
    });
  }

  async next(): Promise<Message> {
    return this.#messages.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }
}
