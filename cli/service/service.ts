/** The management API of the service, as commands call it. */
import pRetry, { AbortError } from "p-retry";
import * as z from "zod";
import { isLoopback } from "./service-url.ts";
import { Failure } from "../core/failure.ts";
import { hostname } from "node:os";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

/** The longest call puts together an artifact of 1.5 GB and reads it once. */
const CALL_LIMIT_MS = 300_000;
/** A redirect would take what is sent to wherever it leads. */
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

/** What the queue API answers with where it refuses. */
const errorSchema = z.object({ code: z.string().optional(), error: z.string().optional() });

/** The service has refused an operation; `code` is one of its closed list, such as APP_NOT_FOUND. */
export class ServiceError extends Failure {
  readonly code: string;

  constructor(code: string, message: string, advice: readonly string[] = []) {
    super(message, advice);
    this.code = code;
  }
}

export type Operation<Schema extends z.ZodType> = {
  /** A GraphQL document with one operation. */
  readonly document: string;
  /** What stands under `data`. */
  readonly schema: Schema;
};

/** An operation whose `data` has these members. */
export function operation<Shape extends z.ZodRawShape>(document: string, shape: Shape) {
  return { document, schema: z.object(shape) } satisfies Operation<z.ZodObject<Shape>>;
}

export type ServiceSettings = {
  /** Such as https://edge.example, without a slash at its end. */
  readonly url: string;
  /** None for the few operations that need none. */
  readonly apiKey?: string | undefined;
  /** Where the key stands, for the person whose key is refused. */
  readonly keySource?: string | undefined;
  /** Told what the service warns of although it does what it is asked. */
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly signal: AbortSignal;
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

  /** The same, whose calls end with another signal: what is tidied up after Ctrl+C must still be said. */
  withSignal(signal: AbortSignal): Service {
    const other = new Service({ ...this.#settings, signal });
    other.#hasAnswered = this.#hasAnswered;
    return other;
  }

  /** Asks, and asks again while the network or the service fails. */
  async query<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>> = {},
  ): Promise<z.output<Schema>> {
    return await this.#retrying(() => this.#call(operation, variables));
  }

  /** Changes something, once: whether it was done is not known after a failure of the network. */
  async mutate<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>> {
    return await this.#call(operation, variables);
  }

  /** Changes something that may be done twice without harm, and tries again like a query. */
  async mutateIdempotent<Schema extends z.ZodType>(
    operation: Operation<Schema>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>> {
    return await this.#retrying(() => this.#call(operation, variables));
  }

  /** Reads a JSON document below the service's address, and asks again while the network or the service fails. */
  async read<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
    return await this.#retrying(async () => {
      const response = await this.request(path, { signal: AbortSignal.timeout(READ_LIMIT_MS) });
      const body = parseJson(await response.text());
      const found = schema.safeParse(body);
      if (response.ok && found.success) return found.data;
      if (response.status === 429 || response.status >= 500) {
        throw new Outage(`The service at ${this.url} answered with HTTP ${response.status}.`);
      }
      const { code = "UNKNOWN", error = `The service answered with HTTP ${response.status}.` } =
        errorSchema.safeParse(body).data ?? {};
      throw serviceError(code, error, undefined);
    });
  }

  /** A request below the service's address, with the key. Throws a Failure when nothing answers. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const { url, apiKey, signal } = this.#settings;
    const headers = new Headers(init.headers);
    headers.set("User-Agent", CLIENT_NAME);
    if (apiKey !== undefined) headers.set("Authorization", `Bearer ${apiKey}`);
    const signals = init.signal ? [signal, init.signal] : [signal];
    try {
      return await fetch(`${url}${path}`, {
        ...init,
        ...NO_REDIRECT,
        headers,
        signal: AbortSignal.any(signals),
      });
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
    const answer = await this.#send(JSON.stringify({ query: document, variables })).catch(
      (error: unknown) => {
        this.#settings.signal.throwIfAborted();
        throw this.#unreachable(error);
      },
    );
    this.#hasAnswered = true;
    return this.#read(answer, schema);
  }

  async #send(body: string): Promise<Answer> {
    const { url, apiKey, signal } = this.#settings;
    // Not as ?api_key=: addresses end up in logs.
    const authorization = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${url}/graphql`, {
      ...NO_REDIRECT,
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": CLIENT_NAME, ...authorization },
      body,
      signal: withinMs(CALL_LIMIT_MS, signal),
    });
    return { isOk: response.ok, status: response.status, text: await response.text() };
  }

  #unreachable(error: unknown): Failure {
    const { url } = this.#settings;
    const message = `The service at ${url} cannot be reached: ${causeOf(error)}.`;
    // A service of this computer that was not started does not come by waiting; one that has answered may start anew.
    if (isLoopback(url) && isRefused(error) && !this.#hasAnswered) {
      return new Failure(message, [
        "Start it: npm start, in the directory of Edgerun.",
        "If yours is elsewhere, say where: EDGERUN_URL, or `flash login --url`.",
      ]);
    }
    return new Outage(message, [
      "Check the address (EDGERUN_URL, or `flash login --url`), and that the service runs.",
    ]);
  }

  #warn(answer: z.output<typeof answerSchema> | undefined): void {
    for (const { message } of answer?.extensions.warnings ?? []) this.#settings.onWarning?.(message);
  }

  #read<Schema extends z.ZodType>({ isOk, status, text }: Answer, schema: Schema): z.output<Schema> {
    const answer = answerSchema.safeParse(parseJson(text));
    const [error] = answer.data?.errors ?? [];
    const { keySource } = this.#settings;
    this.#warn(answer.data);
    if (error) throw serviceError(error.extensions?.code ?? "UNKNOWN", error.message, keySource);
    if (status === 401) {
      throw serviceError("UNAUTHORIZED", "The service does not accept the API key.", keySource);
    }
    if (status === 429 || status >= 500) {
      throw new Outage(`The service at ${this.url} answered with HTTP ${status}.`);
    }
    const data = schema.safeParse(answer.data?.data);
    if (isOk && data.success) return data.data;
    throw new Failure(`The service at ${this.url} gave an answer that this command does not understand.`, [
      `It answered with HTTP ${status}. Is this the address of an Edgerun service, and are both of one version?`,
    ]);
  }
}

type Answer = { readonly isOk: boolean; readonly status: number; readonly text: string };

/** Over sooner or later, so that trying again helps. */
class Outage extends Failure {}

function serviceError(code: string, message: string, keySource: string | undefined): Failure {
  if (code === "UNAVAILABLE" || code === "INTERNAL") return new Outage(message);
  if (code === "UNAUTHORIZED") {
    return new ServiceError(code, message, [
      ...(keySource === undefined ? [] : [`It is that of ${keySource}.`]),
      "Log in with `flash login`, or set SVC_API_KEY in the environment or in a .env file.",
    ]);
  }
  return new ServiceError(code, message);
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Nobody listens there. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}

/** `fetch failed` says nothing; its cause does. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError) return causeOf(cause.errors[0]);
  return cause instanceof Error ? cause.message : error.message;
}

/**
 * Aborts with the signal, or after that time. Not AbortSignal.timeout within AbortSignal.any: Node 20 forgets such a
 * timer, so that what waits for an answer waits for ever.
 */
export function withinMs(limitMs: number, signal: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const tooLate = (): void => limit.abort(new DOMException(`no answer within ${limitMs} ms`, "TimeoutError"));
  setTimeout(tooLate, limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}

/** Who asks, as the page of a login shows it: such as `flash/0.1.0 (laptop)`. */
export const CLIENT_NAME = `flash/${EDGERUN_VERSION} (${hostname().replaceAll(/[^\x20-\x7e]/g, "?")})`;
