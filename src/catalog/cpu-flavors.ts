/** Families of CPU instances. An instance is named `<flavor>-<vcpu>-<memory in GB>`. */

export type CpuFlavor = {
  readonly id: string;
  readonly generation: 3 | 5;
  readonly displayName: string;
  /** GB of memory that come with each vCPU. */
  readonly memoryGbPerVcpu: number;
  /** GB of disk that each vCPU allows. */
  readonly diskGbPerVcpu: number;
};

export const CPU_FLAVORS: readonly CpuFlavor[] = [
  { id: "cpu3c", generation: 3, displayName: "Compute-Optimized", memoryGbPerVcpu: 2, diskGbPerVcpu: 10 },
  { id: "cpu3g", generation: 3, displayName: "General Purpose", memoryGbPerVcpu: 4, diskGbPerVcpu: 10 },
  { id: "cpu3m", generation: 3, displayName: "Memory-Optimized", memoryGbPerVcpu: 8, diskGbPerVcpu: 10 },
  { id: "cpu5c", generation: 5, displayName: "Compute-Optimized", memoryGbPerVcpu: 2, diskGbPerVcpu: 15 },
  { id: "cpu5g", generation: 5, displayName: "General Purpose", memoryGbPerVcpu: 4, diskGbPerVcpu: 15 },
  { id: "cpu5m", generation: 5, displayName: "Memory-Optimized", memoryGbPerVcpu: 8, diskGbPerVcpu: 15 },
];

export const CPU_FLAVOR_VCPUS_MIN = 1;
export const CPU_FLAVOR_VCPUS_MAX = 32;

export type CpuInstance = {
  readonly flavor: CpuFlavor;
  readonly vcpus: number;
  readonly memoryGb: number;
};

export type CpuInstanceReading =
  | { readonly kind: "instance"; readonly instance: CpuInstance }
  | { readonly kind: "refused"; readonly reason: string };

/** Reads a name such as cpu5c-4-8, or says what is wrong with it. */
export function readCpuInstance(id: string): CpuInstanceReading {
  const [, family, vcpuDigits, memoryDigits] = /^(cpu\d[a-z])-([1-9]\d*)-([1-9]\d*)$/.exec(id) ?? [];
  if (family === undefined) {
    return refused("must have the form <family>-<vcpu>-<memory>, such as cpu5c-4-8");
  }
  const flavor = CPU_FLAVORS.find((candidate) => candidate.id === family);
  if (flavor === undefined) {
    return refused(
      `'${family}' is no CPU family. Allowed: ${CPU_FLAVORS.map((candidate) => candidate.id).join(", ")}`,
    );
  }
  const vcpus = Number(vcpuDigits);
  if (vcpus > CPU_FLAVOR_VCPUS_MAX) return refused(`must have at most ${CPU_FLAVOR_VCPUS_MAX} vCPUs`);
  const memoryGb = vcpus * flavor.memoryGbPerVcpu;
  if (Number(memoryDigits) !== memoryGb) {
    return refused(
      `${vcpus} vCPU of ${family} come with ${memoryGb} GB: write ${family}-${vcpus}-${memoryGb}`,
    );
  }
  return { kind: "instance", instance: { flavor, vcpus, memoryGb } };
}

/** The name of an instance of a flavor with so many vCPUs. */
export function instanceIdOf(flavorId: string, vcpus: number): string {
  const { memoryGbPerVcpu = 0 } = CPU_FLAVORS.find(({ id }) => id === flavorId) ?? {};
  return `${flavorId}-${vcpus}-${vcpus * memoryGbPerVcpu}`;
}

function refused(reason: string): CpuInstanceReading {
  return { kind: "refused", reason };
}
