/**
 * The edge with meters: the real script and the real objects, whose calls are counted. Only the count of costs
 * runs on it, never a measurement of time.
 */
import type { Env } from "../../../src/env.ts";
import edge, {
  EndpointObject as RealEndpointObject,
  FleetObject as RealFleetObject,
} from "../../../src/index.ts";
import { meterCalls, meterStorage, meterTimers, reading } from "./meter.ts";

export { HostObject, PodObject } from "../../../src/index.ts";
export class EndpointObject extends RealEndpointObject {
  constructor(...args: ConstructorParameters<typeof RealEndpointObject>) {
    meterStorage(args[0], "endpoint");
    super(...args);
  }
}
export class FleetObject extends RealFleetObject {
  constructor(...args: ConstructorParameters<typeof RealFleetObject>) {
    meterStorage(args[0], "fleet");
    super(...args);
  }
}
meterCalls(EndpointObject, RealEndpointObject, "endpoint");
meterCalls(FleetObject, RealFleetObject, "fleet");
meterTimers();

const METER_PATH = "/meter";

let workerRequests = 0;

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    if (new URL(request.url).pathname === METER_PATH) return Response.json({ ...reading(), workerRequests });
    workerRequests += 1;
    return edge.fetch(request, env, context);
  },
};
