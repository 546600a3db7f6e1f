/** Which hosts are on the Internet, and not on the network of the caller. */
import ipaddr from "ipaddr.js";

const LOCAL_NAME = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;
/** All that IPv6 gives to the Internet; beside it are notations of IPv4 addresses that some systems follow. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * IPv4 addresses at which a cloud tells its own machines about themselves, beside the link-local ones: Azure's, which is
 * a public address, Alibaba's and Oracle's.
 */
export const METADATA_ADDRESSES: readonly string[] = ["168.63.129.16", "100.100.100.200", "192.0.0.192"];

/**
 * Whether a host, as `URL.hostname` spells it, may be on the Internet: a public IP address, or a name that does not say
 * that it is local. What a name resolves to is not known here.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(host)) return isPublicAddress(host);
  const name = host.replace(/\.$/, "");
  return name.includes(".") && !LOCAL_NAME.test(name);
}

/** Whether an IP address is on the Internet: not private, shared, reserved, loopback, link-local or metadata. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_IPV6)) return false;
  return parsed.range() === "unicast" && !METADATA_ADDRESSES.includes(parsed.toString());
}

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
