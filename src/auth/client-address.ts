/** Cloudflare's runtime does not need it; what starts the edge elsewhere sets it. */
export type ClientAddressEnv = {
  /** "true": nobody in front of the edge says where a request comes from, so whoever does is its client. */
  readonly WITHOUT_CLOUDFLARE?: string;
};

/**
 * The address that Cloudflare has seen; null without Cloudflare. That `request.cf` is missing there is no sign of it:
 * the local runtime takes it from a header of the client.
 */
export function clientAddress(env: ClientAddressEnv, { headers }: Pick<Request, "headers">): string | null {
  return env.WITHOUT_CLOUDFLARE === "true" ? null : headers.get("CF-Connecting-IP");
}
