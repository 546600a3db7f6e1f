/** Calls of the edge as the signed-in browser: the cookie goes along, and a header says that the console asks. */

/** An error of the API, with the sentence and the code that it has there. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  readonly status: number;

  constructor(message: string, code: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** In the storage of a browser that has signed in, since no script can see the cookie. */
export const SIGNED_IN_MARK = "edgerun-signed-in";

const UNREACHABLE = "The edge cannot be reached. The page goes on by itself once it can.";

export type Call = {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
};

/** The answer as JSON; throws an ApiError for any other one. */
export async function call<Answer>(path: string, options: Call = {}): Promise<Answer> {
  const response = await send(path, options);
  const text = await response.text();
  const body = parse(text);
  if (response.ok) return body as Answer;
  throw errorOf(response.status, body);
}

/** The answer as it arrives, for streams. */
export async function send(path: string, { method = "GET", body, signal }: Call): Promise<Response> {
  return await fetch(path, {
    method,
    headers: {
      "X-Edgerun-Console": "1",
      Accept: "application/json",
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    credentials: "same-origin",
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new ApiError(UNREACHABLE, "unreachable", 0);
  });
}

type ErrorBody = {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
};

export function errorOf(status: number, body: unknown): ApiError {
  const { error, message, code, errors } = (body ?? {}) as ErrorBody;
  const [first] = errors ?? [];
  if (first) return new ApiError(first.message, first.extensions?.code ?? "ERROR", status);
  const text = [message, error].find((one) => typeof one === "string");
  return new ApiError(
    typeof text === "string" ? text : `The edge answered with status ${status}.`,
    typeof code === "string" ? code : "error",
    status,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
