/** Keys, tokens and code travel encrypted, except where they never leave the computer. */

const LOOPBACK_HOST = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/** Name of the environment variable that allows unencrypted addresses; a project's `.env` cannot set it. */
export const ALLOW_PLAIN_HTTP_VARIABLE = "EDGERUN_ALLOW_PLAIN_HTTP";

/** Whether a host name, as `URL.hostname` spells it, is this very computer. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK_HOST.test(hostname);
}

/** Members of a parsed URL. */
type UrlParts = { readonly protocol: string; readonly hostname: string; readonly host: string };

/** Whether others can read what is sent to this URL: it is neither encrypted nor loopback. */
export function isInsecureUrl({ protocol, hostname }: Omit<UrlParts, "host">): boolean {
  return protocol !== "https:" && protocol !== "wss:" && !isLoopbackHost(hostname);
}

/** The origin of a URL as other computers are told it: with https, unless it is loopback. */
export function publicOrigin(url: UrlParts): string {
  return `${isInsecureUrl(url) ? "https:" : url.protocol}//${url.host}`;
}
