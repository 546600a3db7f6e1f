/** After how long without a message in either direction a tunnel ends; TUNNEL_IDLE_SECONDS in the environment. */
import { ServiceError } from "../../contract/errors.ts";
import { tunnelHeadSchema } from "../../tunnel/tunnel-messages.ts";

const DEFAULT_SECONDS = 1_800;

/** In ms; throws not_configured for a setting that is no such time. */
export function tunnelIdleMs({ TUNNEL_IDLE_SECONDS }: { readonly TUNNEL_IDLE_SECONDS?: string }): number {
  const idleMs = Number(TUNNEL_IDLE_SECONDS || DEFAULT_SECONDS) * 1_000;
  if (tunnelHeadSchema.shape.idleMs.safeParse(idleMs).success) return idleMs;
  throw new ServiceError(
    "not_configured",
    "TUNNEL_IDLE_SECONDS must be a whole number of seconds from 1 to 604800 (7 days).",
  );
}
