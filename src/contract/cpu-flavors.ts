/** Families of CPU instances. An instance is named `<flavor>-<vcpu>-<memory in GB>`. */
export const CPU_FLAVORS: readonly { readonly id: string; readonly memoryGbPerVcpu: number }[] = [
  { id: "cpu3c", memoryGbPerVcpu: 2 },
  { id: "cpu3g", memoryGbPerVcpu: 4 },
  { id: "cpu3m", memoryGbPerVcpu: 8 },
  { id: "cpu5c", memoryGbPerVcpu: 2 },
  { id: "cpu5g", memoryGbPerVcpu: 4 },
  { id: "cpu5m", memoryGbPerVcpu: 8 },
];
