import * as z from "zod";
import { nameSchema, onlyIdSchema, parseInput, stringSchema } from "../../management/input-schemas.ts";
import {
  clusterShape,
  createCluster,
  deleteCluster,
  findOwnCluster,
  type Cluster,
} from "../../management/pods/clusters.ts";
import { showPod, type ShownPod } from "../../management/pods/pod-view.ts";
import { withInput, type GraphqlContext } from "../context.ts";
import { readGpuPod } from "./pod-input.ts";

const creationSchema = z.object({
  ...clusterShape,
  clusterName: z.preprocess((name) => name || "my cluster", nameSchema),
});
const filterSchema = z.object({ id: stringSchema.nullish() });

export const clusterResolvers = {
  Mutation: {
    createCluster: async (
      _parent: unknown,
      { input }: { readonly input?: Readonly<Record<string, unknown>> | null },
      context: GraphqlContext,
    ): Promise<Cluster> => {
      const { clusterName: name, ...shape } = parseInput(creationSchema, input);
      const pod = readGpuPod({ ...input, name });
      return await createCluster(context, { ...shape, name, pod });
    },
    deleteCluster: withInput(onlyIdSchema, async (context, { id }) => {
      await deleteCluster(context, id);
      return true;
    }),
  },
  User: {
    cluster: withClusterId(async (context, id) => await findOwnCluster(context, id)),
  },
  Cluster: {
    id: ({ record }: Cluster): string => record.id,
    name: ({ record }: Cluster): string => record.name,
    type: ({ record }: Cluster): string => record.type,
    podCount: ({ record }: Cluster): number => record.podCount,
    gpuCountPerPod: ({ record }: Cluster): number => record.gpuCountPerPod,
    pods: ({ pods }: Cluster, _args: unknown, context: GraphqlContext): ShownPod[] =>
      pods.map((pod) => showPod(context, pod)),
  },
};

function withClusterId(find: (context: GraphqlContext, id: string) => Promise<Cluster | undefined>) {
  return async (
    _parent: unknown,
    { input }: { readonly input?: unknown },
    context: GraphqlContext,
  ): Promise<Cluster | undefined> => {
    const { id } = parseInput(filterSchema, input);
    return id ? await find(context, id) : undefined;
  };
}
