/** The management API of the service, as commands call it. */
import { parseJson } from "../../src/std/json.ts";
import pRetry, { AbortError } from "p-retry";
import * as z from "zod";
import { type Answer, callJson } from "./json-call.ts";
import { isLoopback } from "./service-url.ts";
import { Failure } from "../../src/std/failure.ts";
import { hostname } from "node:os";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

/** The longest call assembles an artifact of 1.5 GB and reads it once. */
const CALL_LIMIT_MS = 300_000;
/** A redirect could send the key elsewhere. */
const NO_REDIRECT = { redirect: "error" } as const;
const READ_LIMIT_MS = 30_000;
const RETRIES = { retries: 3, minTimeout: 1_000, maxTimeout: 15_000, randomize: true };

const answerSchema = z.object({
  data: z.unknown().optional(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        extensions: z.looseObject({ code: z.string().optional() }).optional(),
      }),
    )
    .optional(),
  extensions: z.object({ warnings: z.array(z.object({ message: z.string() })) }).catch({ warnings: [] }),
});

/** Error body of the queue API. */
const errorSchema = z.object({ code: z.string().optional(), error: z.string().optional() });

/** An operation failed at the service; `code` is one of its list, such as APP_NOT_FOUND. */
export class ServiceFailure extends Failure {
  readonly code: string;

  constructor(code: string, message: string, advice: readonly string[] = []) {
    super(message, advice);
    this.code = code;
  }
}

export type Operation<Schema extends z.ZodType> = {
  /** A GraphQL document with one operation. */
  readonly document: string;
  /** Validates the member `data`. */
  readonly schema: Schema;
};

/** An operation whose `data` has these members. */
export function operation<Shape extends z.ZodRawShape>(document: string, shape: Shape) {
  return { document, schema: z.object(shape) } satisfies Operation<z.ZodObject<Shape>>;
}

export type ServiceSettings = {
  /** Such as https://edge.example, without a trailing slash. */
  readonly url: string;
  /** Absent for the few operations that need none. */
  readonly apiKey?: string | undefined;
  /** Where the key comes from, for the message when it is rejected. */
  readonly keySource?: string | undefined;
  /** Receives warnings in successful responses. */
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly signal: AbortSignal;
};

/** A request by which a JSON document is read. */
export type ReadCall = {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export class Service {
  readonly #settings: ServiceSettings;
  #hasAnswered = false;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
  }

  get url(): string {
    return this.#settings.url;
  }

  /** Undefined for the few operations that need none. */
  get apiKey(): string | undefined {
    return this.#settings.apiKey;
  }

  /** The same service with another signal, for cleaning up after Ctrl+C. */
  withSignal(signal: AbortSignal): Service {
    const other = new Service({ ...this.#settings, signal });
    other.#hasAnswered = this.#hasAnswered;
    return other;
  }

  /** Runs a query; retries while the network or the service fails. */
  async query<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>> = {},
  ): Promise<z.output<Schema>> {
    return await this.#retrying(() => this.#call(operation, variables));
  }

  /** Runs a mutation once: after a network failure it is unknown whether it took effect. */
  async mutate<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>> {
    return await this.#call(operation, variables);
  }

  /** Runs a mutation that may safely run twice; retries like a query. */
  async mutateIdempotent<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>> {
    return await this.#retrying(() => this.#call(operation, variables));
  }

  /**
   * Reads a JSON document below the service's URL, or what a request answers that may safely be sent twice; retries like
   * a query.
   */
  async read<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    call: ReadCall = {},
  ): Promise<z.output<Schema>> {
    return await this.#retrying(async () => {
      const { status, text } = await this.#send(path, call, READ_LIMIT_MS);
      const body = parseJson(text);
      const found = schema.safeParse(body);
      if (status >= 200 && status < 300 && found.success) return found.data;
      if (status === 429 || status >= 500) {
        throw new Outage(`The service at ${this.url} answered with HTTP ${status}.`);
      }
      const { code = "UNKNOWN", error = `The service answered with HTTP ${status}.` } =
        errorSchema.safeParse(body).data ?? {};
      throw serviceFailure(code, error, undefined);
    });
  }

  /** Sends a request below the service's URL, with the key. Throws a Failure when there is no answer. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const { signal } = this.#settings;
    const signals = init.signal ? [signal, init.signal] : [signal];
    try {
      return await this.#fetch(path, { ...init, signal: AbortSignal.any(signals) });
    } catch (error) {
      for (const one of signals) one.throwIfAborted();
      throw this.#unreachable(error);
    }
  }

  async #retrying<T>(call: () => Promise<T>): Promise<T> {
    return await pRetry(
      async () => {
        try {
          return await call();
        } catch (error) {
          throw error instanceof Outage ? error : new AbortError(error as Error);
        }
      },
      { ...RETRIES, signal: this.#settings.signal },
    );
  }

  async #call<Schema extends z.ZodType>(
    { document, schema }: Operation<Schema>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>> {
    const body = JSON.stringify({ query: document, variables });
    const answer = await this.#send("/graphql", { method: "POST", body }, CALL_LIMIT_MS);
    this.#hasAnswered = true;
    return this.#read(answer, schema);
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(this.#ownHeaders())) headers.set(name, value);
    return await fetch(`${this.url}${path}`, { ...NO_REDIRECT, ...init, headers });
  }

  async #send(path: string, { method = "GET", headers, body }: ReadCall, limitMs: number): Promise<Answer> {
    const signal = withinMs(limitMs, this.#settings.signal);
    const all = { ...headers, ...this.#ownHeaders() };
    try {
      return await callJson({ url: `${this.url}${path}`, method, headers: all, body, signal });
    } catch (error) {
      this.#settings.signal.throwIfAborted();
      throw this.#unreachable(error);
    }
  }

  /** Not with the key as ?api_key=: URLs end up in logs. */
  #ownHeaders(): Record<string, string> {
    const authorization = this.apiKey === undefined ? {} : { Authorization: `Bearer ${this.apiKey}` };
    return { "User-Agent": CLIENT_NAME, ...authorization };
  }

  #unreachable(error: unknown): Failure {
    const { url } = this.#settings;
    const message = `The service at ${url} cannot be reached: ${causeOf(error)}.`;
    // Waiting does not start a service on this computer; one that has answered before may be restarting.
    if (isLoopback(url) && isRefused(error) && !this.#hasAnswered) {
      return new Failure(message, [
        "Start it: npm start, in the directory of Edgerun.",
        "If yours runs elsewhere, set EDGERUN_URL or run `flash login --url`.",
      ]);
    }
    return new Outage(message, [
      "Check the URL (EDGERUN_URL, or `flash login --url`), and that the service runs.",
    ]);
  }

  #warn(answer: z.output<typeof answerSchema> | undefined): void {
    for (const { message } of answer?.extensions.warnings ?? []) this.#settings.onWarning?.(message);
  }

  #read<Schema extends z.ZodType>({ status, text }: Answer, schema: Schema): z.output<Schema> {
    const answer = answerSchema.safeParse(parseJson(text));
    const [error] = answer.data?.errors ?? [];
    const { keySource } = this.#settings;
    this.#warn(answer.data);
    if (error) throw serviceFailure(error.extensions?.code ?? "UNKNOWN", error.message, keySource);
    if (status === 401) {
      throw serviceFailure("UNAUTHORIZED", "The service does not accept the API key.", keySource);
    }
    if (status === 429 || status >= 500) {
      throw new Outage(`The service at ${this.url} answered with HTTP ${status}.`);
    }
    const data = schema.safeParse(answer.data?.data);
    if (status >= 200 && status < 300 && data.success) return data.data;
    throw new Failure(`The service at ${this.url} sent a response that this command does not understand.`, [
      `It answered with HTTP ${status}. Is this the URL of an Edgerun service, and do both have the same version?`,
    ]);
  }
}

/** A temporary failure: retrying helps. */
class Outage extends Failure {}

function serviceFailure(code: string, message: string, keySource: string | undefined): Failure {
  if (code === "UNAVAILABLE" || code === "INTERNAL") return new Outage(message);
  if (code === "UNAUTHORIZED") {
    return new ServiceFailure(code, message, [
      ...(keySource === undefined ? [] : [`The key comes from ${keySource}.`]),
      "Log in with `flash login`, or set SVC_API_KEY in the environment or in a .env file.",
    ]);
  }
  return new ServiceFailure(code, message);
}

/** The connection was refused. */
function isRefused(error: unknown): boolean {
  const { code } = originOf(error) as NodeJS.ErrnoException;
  return code === "ECONNREFUSED";
}

function causeOf(error: unknown): string {
  const origin = originOf(error);
  return origin instanceof AggregateError ? causeOf(origin.errors[0]) : origin.message;
}

/** The cause where there is one, since the message of fetch is always "fetch failed". */
function originOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  return error.cause instanceof Error ? error.cause : error;
}

/**
 * Aborts with the signal, or after `limitMs`. AbortSignal.timeout within AbortSignal.any does not work: Node 20 collects
 * such a timer, and the request would wait for ever.
 */
export function withinMs(limitMs: number, signal: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const tooLate = (): void => limit.abort(new DOMException(`no answer within ${limitMs} ms`, "TimeoutError"));
  setTimeout(tooLate, limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}

/** User agent, as the login page shows it: such as `flash/0.1.0 (laptop)`. */
const CLIENT_NAME = `flash/${EDGERUN_VERSION} (${hostname().replaceAll(/[^\x20-\x7e]/g, "?")})`;
