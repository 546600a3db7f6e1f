/** The address at which a load-balanced endpoint has a host of its own. */
import * as z from "zod";
import { isLoopback } from "../service/service-url.ts";
import { Failure } from "../core/failure.ts";
import type { Service } from "../service/service.ts";

/** What stands at the address of the service; one of an earlier version says nothing of hosts. */
const schema = z.object({ directHosts: z.array(z.string()).optional() });

/** Such as `https://<id>.lb.example.com`, by the endpoint's id; undefined where the service has none for its callers. */
export async function ownHostOf(service: Service): Promise<((id: string) => string) | undefined> {
  const { directHosts = [] } = await service
    .read("/", schema)
    .catch((error: unknown): z.infer<typeof schema> => {
      if (error instanceof Failure) return {}; // the other address works
      throw error;
    });
  const { protocol, port } = new URL(service.url);
  const suffix = directHosts.find((host) => isOfThisComputer(host) === isLoopback(service.url));
  return suffix === undefined
    ? undefined
    : (id) => `${protocol}//${id}.${suffix}${port === "" ? "" : `:${port}`}`;
}

function isOfThisComputer(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}
