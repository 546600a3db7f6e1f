/** Answers of the local server itself, all of them JSON. */

/** What a call is refused with, before anything behind the server has seen it. */
export class RequestError extends Error {
  override readonly name = "CallRefusal";
  readonly status: number;
  /** A sentence, or a list of what is wrong with the fields. */
  readonly detail: string | readonly FieldIssue[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    detail: RequestError["detail"],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(typeof detail === "string" ? detail : detail.map(formatIssue).join("; "));
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }

  answer(): Response {
    return detailResponse(this.status, this.detail, this.headers);
  }
}

/** One wrong field, in the words that users of FastAPI know. */
export type FieldIssue = {
  /** From the outside in, such as ["body", "input", "prompt"]. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
};

export function detailResponse(
  status: number,
  detail: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ detail }, { status, headers });
}

/** The answer to a method that is not had here: OPTIONS asks for them, any other is wrong. */
export function methodResponse(method: string, allowed: readonly string[]): Response {
  const all = [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
  const headers = { Allow: all.join(", ") };
  if (method === "OPTIONS") return new Response(null, { status: 204, headers });
  return detailResponse(405, `${method} is not allowed here; use ${allowed.join(" or ")}.`, headers);
}

function formatIssue({ loc, msg }: FieldIssue): string {
  return `${loc.slice(1).join(".") || loc.join(".")}: ${msg}`;
}
