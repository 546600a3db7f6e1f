/** Answers of the local server itself, all of them JSON. */

/** What a call is refused with, before anything behind the server has seen it. */
export class CallRefusal extends Error {
  override readonly name = "CallRefusal";
  readonly status: number;
  /** A sentence, or a list of what is wrong with the fields. */
  readonly detail: string | readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: CallRefusal["detail"], headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === "string" ? detail : detail.map(shown).join("; "));
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }

  answer(): Response {
    return detailAnswer(this.status, this.detail, this.headers);
  }
}

/** One wrong field, in the words that users of FastAPI know. */
export type FieldProblem = {
  /** From the outside in, such as ["body", "input", "prompt"]. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
};

export function detailAnswer(
  status: number,
  detail: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ detail }, { status, headers });
}

/** The answer to a method that is not had here: OPTIONS asks for them, any other is wrong. */
export function methodAnswer(method: string, allowed: readonly string[]): Response {
  const all = [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
  const headers = { Allow: all.join(", ") };
  if (method === "OPTIONS") return new Response(null, { status: 204, headers });
  return detailAnswer(405, `${method} is not allowed here; use ${allowed.join(" or ")}.`, headers);
}

function shown({ loc, msg }: FieldProblem): string {
  return `${loc.slice(1).join(".") || loc.join(".")}: ${msg}`;
}
