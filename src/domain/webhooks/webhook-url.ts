/**
 * Which addresses a webhook may have. The address comes from a stranger, and the call from inside the house.
 *
 * A name that resolves to a private address is not seen here: on Cloudflare's network a fetch reaches public
 * addresses only.
 */
import { isPublicHost } from "../../net/public-host.ts";

/** Members of a parsed URL, whose parser has brought all notations of an IP address into one. */
export type WebhookUrl = {
  readonly protocol: string;
  readonly hostname: string;
  readonly username: string;
  readonly password: string;
};

/** What is wrong with the address, as the end of a sentence about it; null when nothing is. */
export function webhookUrlIssue(url: WebhookUrl, allowsPrivate: boolean): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or a password";
  if (allowsPrivate || isPublicHost(url.hostname)) return null;
  return "must be a public address; loopback, private and link-local ones are not called";
}
