/** Cloudflare's runtime does not need it; what starts the edge elsewhere sets it. */
export type ClientAddressEnv = {
  /** "true": no proxy in front of the edge sets the address, so a header with one was written by the client. */
  readonly WITHOUT_CLOUDFLARE?: string;
};

/**
 * The address that Cloudflare has seen; null without Cloudflare. That `request.cf` is missing there is no sign of it:
 * the local runtime takes it from a header of the client.
 */
export function clientAddress(env: ClientAddressEnv, { headers }: Pick<Request, "headers">): string | null {
  return env.WITHOUT_CLOUDFLARE === "true" ? null : headers.get("CF-Connecting-IP");
}
