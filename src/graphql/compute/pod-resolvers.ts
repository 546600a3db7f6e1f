import * as z from "zod";
import { idSchema, onlyIdSchema, parseInput } from "../../management/input-schemas.ts";
import {
  clusterSchema,
  cpuPodSchema,
  gpuPodSchema,
  clusterNotFound,
  noCapacity,
  podNotFound,
  podNotFoundToTerminate,
} from "../../management/catalog/absent-pods.ts";

type Arguments = { readonly input?: unknown };

const podIdSchema = z.object({ podId: idSchema });

/** Rejects the pod that an operation names, since there are no pods. */
function refusePod(_parent: unknown, { input }: Arguments): never {
  throw podNotFound(parseInput(podIdSchema, input).podId);
}

function refuseDeployment(schema: z.ZodType) {
  return (_parent: unknown, { input }: Arguments): never => {
    parseInput(schema, input);
    throw noCapacity();
  };
}

export const podResolvers = {
  Query: {
    pod: (): null => null,
  },
  Mutation: {
    podFindAndDeployOnDemand: refuseDeployment(gpuPodSchema),
    podRentInterruptable: refuseDeployment(gpuPodSchema),
    deployCpuPod: refuseDeployment(cpuPodSchema),
    createCluster: refuseDeployment(clusterSchema),
    podEditJob: refusePod,
    podStop: refusePod,
    podResume: refusePod,
    podBidResume: refusePod,
    podTerminate: (_parent: unknown, { input }: Arguments): never => {
      parseInput(podIdSchema, input);
      throw podNotFoundToTerminate();
    },
    deleteCluster: (_parent: unknown, { input }: Arguments): never => {
      throw clusterNotFound(parseInput(onlyIdSchema, input).id);
    },
  },
  User: {
    pods: (): readonly never[] => [],
    cluster: (): null => null,
  },
};
