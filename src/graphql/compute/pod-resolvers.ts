import * as z from "zod";
import {
  changePod,
  createPod,
  findOwnPod,
  startPod,
  stopPod,
  terminatePod,
} from "../../management/pods/pods.ts";
import { podNotFoundToTerminate } from "../../management/pods/pod-errors.ts";
import { showPod, type ShownPod } from "../../management/pods/pod-view.ts";
import { hasErrorCode } from "../../contract/errors.ts";
import { idSchema, optional, parseInput, stringSchema, wholeNumber } from "../../management/input-schemas.ts";
import { cudaVersionsSchema } from "../../management/nouns/compute.ts";
import { withInput, withoutArguments, type GraphqlContext } from "../context.ts";
import { readCpuPod, readGpuPod, readPodEdit } from "./pod-input.ts";

type Arguments = { readonly input?: unknown };

const podIdSchema = z.object({ podId: idSchema });
const filterSchema = z.object({ podId: stringSchema.nullish() });
const resumeSchema = z.object({
  podId: idSchema,
  gpuCount: optional(wholeNumber(0, 64)),
  allowedCudaVersions: optional(cudaVersionsSchema),
});
const bidSchema = resumeSchema.extend({
  bidPerGpu: optional(z.number().min(0, "must not be negative").max(1_000_000)),
});

const resume = withInput(bidSchema, async (context, { podId, gpuCount, allowedCudaVersions, bidPerGpu }) => {
  const values = {
    ...(gpuCount && { gpuCount }),
    ...(allowedCudaVersions?.length && { allowedCudaVersions: allowedCudaVersions.join(",") }),
    ...(bidPerGpu !== undefined && { bidPerGpu }),
  };
  return showPod(context, await startPod(context, podId, values));
});

export const podResolvers = {
  Query: {
    pod: async (
      _parent: unknown,
      { input }: Arguments,
      context: GraphqlContext,
    ): Promise<ShownPod | null> => {
      const { podId } = parseInput(filterSchema, input);
      const pod = podId ? await findOwnPod(context, podId) : undefined;
      return pod ? showPod(context, pod) : null;
    },
  },
  Mutation: {
    podFindAndDeployOnDemand: async (_parent: unknown, { input }: Arguments, context: GraphqlContext) =>
      showPod(context, await createPod(context, readGpuPod(input))),
    podRentInterruptable: async (_parent: unknown, { input }: Arguments, context: GraphqlContext) =>
      showPod(context, await createPod(context, { ...readGpuPod(input), isInterruptible: true })),
    deployCpuPod: async (_parent: unknown, { input }: Arguments, context: GraphqlContext) =>
      showPod(context, await createPod(context, readCpuPod(input))),
    podEditJob: async (_parent: unknown, { input }: Arguments, context: GraphqlContext) => {
      const { podId, ...edit } = readPodEdit(input);
      return showPod(context, await changePod(context, podId, edit));
    },
    podStop: withInput(podIdSchema, async (context, { podId }) =>
      showPod(context, await stopPod(context, podId)),
    ),
    podResume: resume,
    podBidResume: resume,
    podTerminate: withInput(podIdSchema, async (context, { podId }) => {
      try {
        await terminatePod(context, podId);
      } catch (error) {
        throw hasErrorCode(error, "pod_not_found") ? podNotFoundToTerminate() : error;
      }
    }),
  },
  User: {
    pods: withoutArguments(async (context): Promise<readonly ShownPod[]> => {
      const pods = await context.loaders.pods.load();
      return pods.map((pod) => showPod(context, pod));
    }),
  },
};
