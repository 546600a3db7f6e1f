/**
 * A call of a JSON API by `node:http`. The first `fetch` of a process loads a whole HTTP client, which costs a short command
 * as much time as everything else that it does.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** Such an answer could send the key elsewhere. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export type JsonCall = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; absent for none. */
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
};

export type Answer = { readonly status: number; readonly text: string };

/** Sends it and reads the whole answer. Throws when there is none, when it is a redirect, and when the signal aborts. */
export async function callJson(call: JsonCall): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    openRequest(call).on("response", resolve).on("error", reject).end(call.body);
  });
  const status = response.statusCode ?? 0;
  if (!REDIRECTS.has(status)) return { status, text: await text(response) };
  response.destroy();
  throw new Error("unexpected redirect");
}

/** Takes the modules as `require` does: an import reads each of their exports, and some load the client of `fetch`. */
function openRequest({ url, method, headers, body, signal }: JsonCall): ClientRequest {
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  const options = { method, headers: { Accept: "*/*", ...type, ...headers }, signal };
  if (!url.startsWith("https:")) return process.getBuiltinModule("node:http").request(url, options);
  return process.getBuiltinModule("node:https").request(url, options);
}
