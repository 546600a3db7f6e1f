/** The edge: one Worker script with its Durable Objects. */
import { edgeRoutes } from "./routes.ts";

export { EndpointObject } from "./endpoint/endpoint-object.ts";
export { FleetObject } from "./fleet/fleet-object.ts";

export default { fetch: edgeRoutes().fetch };
