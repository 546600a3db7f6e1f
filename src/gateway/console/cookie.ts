/**
 * The cookie of a browser that is signed in to the console.
 *
 * C1  It counts only for requests of the console's own pages: those carry a header that no form and no page of another
 *     origin can send without being asked for it, and their Origin, where there is one, is ours.
 * C2  Whatever it counts for, it goes no further than this: workers and pods never see it.
 * C3  Over HTTPS its name has the prefix __Host-, so that no other host of the domain can set it.
 */

/** Present in the requests of the console's pages. */
export const CONSOLE_HEADER = "X-Edgerun-Console";

const SECURE_NAME = "__Host-edgerun-sign-in";
const PLAIN_NAME = "edgerun-sign-in";
const NAMES: ReadonlySet<string> = new Set([SECURE_NAME, PLAIN_NAME]);

type Cookie = { readonly name: string; readonly value: string };

/** The request with the credential of its sign-in as a header, where it has one that counts, and without the cookie. */
export function withSignIn(request: Request): Request {
  const cookies = readCookies(request.headers.get("Cookie"));
  if (!cookies.some(({ name }) => NAMES.has(name))) return request;
  const headers = new Headers(request.headers);
  const others = cookies.filter(({ name }) => !NAMES.has(name)); // C2
  if (others.length === 0) headers.delete("Cookie");
  else headers.set("Cookie", others.map(({ name, value }) => `${name}=${value}`).join("; "));
  const own = cookies.find(({ name }) => name === nameFor(request.url));
  if (own && !headers.has("Authorization") && isOfConsole(request)) {
    headers.set("Authorization", `Bearer ${own.value}`);
  }
  return new Request(request, { headers });
}

/** Whether a page of the console has sent the request (C1). */
export function isOfConsole({ url, headers }: Pick<Request, "url" | "headers">): boolean {
  const site = headers.get("Sec-Fetch-Site");
  const origin = headers.get("Origin");
  return (
    headers.has(CONSOLE_HEADER) &&
    (site === null || site === "same-origin") &&
    (origin === null || hostOf(origin) === new URL(url).host)
  );
}

/** The header that sets the cookie, until then. */
export function signInCookie(url: string, token: string, maxAgeSeconds: number): string {
  const secure = url.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(url)}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** C3 */
function nameFor(url: string): string {
  return url.startsWith("https:") ? SECURE_NAME : PLAIN_NAME;
}

function readCookies(header: string | null): readonly Cookie[] {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return { name, value: value.join("=") };
    });
}

/** A proxy in front may have ended TLS, so that the scheme of the address is another. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
