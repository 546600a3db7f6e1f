/** Which GPU a worker has, for people: asked once of each worker. */
import * as z from "zod";
import { GPU_FIELDS, gpuName, gpuShape } from "../service/gpu-name.ts";
import type { Operation, Service } from "../service/service.ts";

const endpointPods = {
  document: `query ($id: String) { myself { endpoint(id: $id) { pods { id machine { ${GPU_FIELDS} } } } } }`,
  schema: z.object({
    myself: z.object({
      endpoint: z
        .object({
          pods: z.array(
            z.object({
              id: z.string(),
              machine: z.object(gpuShape).nullable(),
            }),
          ),
        })
        .nullable(),
    }),
  }),
} satisfies Operation<z.ZodType>;

export class GpuNames {
  readonly #service: Service;
  readonly #cache = new Map<string, Promise<string | undefined>>();

  constructor(service: Service) {
    this.#service = service;
  }

  /** Nothing for a worker without one, and where it cannot be told. */
  async of(endpointId: string, workerId: string): Promise<string | undefined> {
    const name = this.#cache.get(workerId) ?? this.#ask(endpointId, workerId);
    this.#cache.set(workerId, name);
    return await name;
  }

  async #ask(endpointId: string, workerId: string): Promise<string | undefined> {
    try {
      const { myself } = await this.#service.query(endpointPods, { id: endpointId });
      const pod = myself.endpoint?.pods.find(({ id }) => id === workerId);
      return pod?.machine ? gpuName(pod.machine) : undefined;
    } catch {
      return undefined;
    }
  }
}
